import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  type DiscoveryEvent,
  InvalidArgument,
  LocalWorker,
  routine,
  StaticDiscovery,
  WorkerCredentials,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { freePort } from "../../support/free-port.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { makeCertificates } from "../../support/registry-servers.ts";
import { until } from "../../support/until.ts";

expectNothingLeft();

const pid = routine(async () => process.pid);

describe("a discovery URL", () => {
  test("is as good as a discovery for a pool, and for a proxy to the same workers", async () => {
    await using pool = await WorkerPool.start({ size: 2, discovery: "local:shop" });
    expect(pool.uri).toBe("local:shop");
    await using other = await WorkerPool.start({ discovery: "local:shop", quorum: 2 });
    expect([...other.workers.keys()].sort()).toEqual([...pool.workers.keys()].sort());
    await using byUri = new WorkerProxy({ poolUri: pool.uri, quorum: 2 });
    await using byUrl = new WorkerProxy({ discovery: "local:shop" });
    const pids = [...pool.workers.values()].map((worker) => worker.pid);
    for (const proxy of [byUri, byUrl]) expect(pids).toContain(await proxy.dispatch(pid));
  });

  test("of a pool with a private place leads other processes to it", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    expect(pool.uri).toMatch(/^pool:\//);
    await using proxy = await WorkerPool.start({ discovery: pool.uri });
    expect([...proxy.workers.keys()]).toEqual([...pool.workers.keys()]);
  });

  test.each([
    ["lna:render", 'there is no discovery "lna:" for "lna:render"'],
    ["local", '"local" is not a discovery URL: write local:NAME'],
    ["", '"" is not a discovery URL'],
    ["local:", "it needs a name after the colon"],
    ["local:%zz", 'has a "%" without two hexadecimal digits after it'],
    ["local:x?pollInterval=5", 'has the unknown parameter "pollInterval"; it takes tag'],
    ["local:x?tag=", "has an empty tag"],
    ["static:", "it needs at least one address after the colon"],
    ["static:host", 'the worker address "host" is neither'],
    ["static:host:99999", "has the port 99999, which is not within 1 to 65535"],
    ["static:host:1?secure=yes", 'secure must be true or false, not "yes"'],
  ])("%j is refused before anything is started", async (url, message) => {
    const error = await reasonOf(WorkerPool.start({ size: 1, discovery: url }));
    expect(error).toBeInstanceOf(InvalidArgument);
    expect(error).toMatchObject({ message: expect.stringContaining(message) });
    expect(() => new WorkerProxy({ discovery: url })).toThrow(InvalidArgument);
    expect(() => new WorkerProxy({ poolUri: url })).toThrow(InvalidArgument);
  });

  test("is shown without its password when it is refused", () => {
    expect(() => new WorkerProxy({ discovery: "etdc://ada:secret@host/x" })).toThrow("etdc://ada:***@host/x");
  });
});

describe("a static list", () => {
  const options = { host: "127.0.0.1", tags: ["gpu"], extra: { rack: "7" }, channel: { keepaliveInterval: 5000 } };

  /** The next event of a subscription. */
  async function next(events: AsyncIterator<DiscoveryEvent>): Promise<DiscoveryEvent> {
    const { value, done } = await events.next();
    if (done === true) throw new Error("the subscription has ended");
    return value;
  }

  test("learns from each worker who it is", async () => {
    await using worker = new LocalWorker(options);
    await worker.start();
    await using pool = await WorkerPool.start({ discovery: `static:${worker.address}`, tags: ["gpu"] });
    expect([...pool.workers.values()]).toEqual([worker.metadata]);
    expect(await pool.dispatch(pid)).toBe(worker.metadata?.pid);
  });

  describe("of workers with TLS", () => {
    /** A worker with TLS, and credentials for it. */
    async function startSecured(): Promise<{ worker: LocalWorker; credentials: WorkerCredentials }> {
      const folder = mkdtempSync(join(tmpdir(), "certs-"));
      const credentials = await WorkerCredentials.fromFiles(makeCertificates(folder));
      rmSync(folder, { recursive: true });
      const worker = new LocalWorker({ ...options, credentials });
      await worker.start();
      return { worker, credentials };
    }

    test("learns from workers with TLS, given the credentials of the pool", async () => {
      const { worker, credentials } = await startSecured();
      await using pool = await WorkerPool.start({ discovery: `static:${worker.address}`, credentials });
      expect([...pool.workers.values()]).toEqual([worker.metadata]);
      await worker.stop();
    });

    test("learns from workers with TLS, given credentials", async () => {
      const { worker, credentials } = await startSecured();
      const events = new StaticDiscovery([worker.address ?? ""], { credentials }).subscribe()[Symbol.asyncIterator]();
      expect(await next(events)).toEqual({ type: "worker-added", worker: worker.metadata });
      await events.return?.();
      await worker.stop();
    });
  });

  test("names a worker that cannot be asked by its address, until it can", async () => {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const events = new StaticDiscovery([address]).subscribe()[Symbol.asyncIterator]();
    expect(await next(events)).toMatchObject({ type: "worker-added", worker: { uid: address, version: "" } });
    await using worker = new LocalWorker({ ...options, port });
    await worker.start();
    expect(await next(events)).toMatchObject({ type: "worker-dropped", worker: { uid: address } });
    expect(await next(events)).toEqual({ type: "worker-added", worker: worker.metadata });
    await events.return?.();
  });

  test("learns who a worker is that was started anew at its address, and uses it", async () => {
    const port = await freePort();
    const address = `127.0.0.1:${port}`;
    const start = async (...tags: string[]) => {
      const worker = new LocalWorker({ ...options, port, tags });
      await worker.start();
      return worker;
    };
    const before = await start("old");
    await using pool = await WorkerPool.start({ discovery: `static:${address}` });
    const picky = new StaticDiscovery([address]).subscribe(({ tags }) => tags.has("new"))[Symbol.asyncIterator]();
    const found = next(picky);
    expect(await pool.dispatch(pid)).toBe(before.metadata?.pid);
    await before.stop();
    // It stays known while nobody answers there.
    expect([...pool.workers.keys()]).toEqual([before.uid]);
    await using after = await start("new");
    await until(() => pool.workers.has(after.uid), "the pool knows the new worker");
    expect([...pool.workers.values()]).toEqual([after.metadata]);
    expect(await found).toEqual({ type: "worker-added", worker: after.metadata });
    expect(await pool.dispatch(pid.with({ needs: ["new"] }))).toBe(after.metadata?.pid);
    await picky.return?.();
  });

  test("that leads to one worker twice has it once", async () => {
    await using worker = new LocalWorker(options);
    await worker.start();
    const port = worker.address?.split(":")[1];
    const discovery = new StaticDiscovery([`127.0.0.1:${port}`, `localhost:${port}`, `127.0.0.1:${port}`]);
    const events = discovery.subscribe()[Symbol.asyncIterator]();
    expect((await next(events)).worker.uid).toBe(worker.uid);
    // It asks all of them at the same time, so whoever else is in a pool by now would be, too.
    await using pool = await WorkerPool.start({ size: 1, discovery, quorum: 2 });
    await pool.broadcast(pid);
    expect(pool.workers.size).toBe(2);
    await events.return?.();
  });
});
