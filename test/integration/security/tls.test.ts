import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import {
  InvalidArgument,
  LocalWorker,
  NoWorkersAvailable,
  routine,
  StaticDiscovery,
  WorkerConnection,
  WorkerCredentials,
  WorkerCredentialsProvider,
  WorkerPool,
  WorkerProxy,
} from "wool-ts";
import { TestAuthority } from "../../support/certificates.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";

expectNothingLeft();

const authority = new TestAuthority();
const add = routine(async (x: number, y: number) => x + y);
const whereFrom = routine(async () => process.pid);
const nested = routine(
  async (depth: number): Promise<number[]> =>
    depth === 0 ? [process.pid] : [process.pid, ...(await nested(depth - 1))],
);
const count = routine(async function* (to: number) {
  for (let i = 0; i < to; i++) yield i;
});

describe("a pool with credentials", () => {
  test.each([
    ["mutual TLS over private sockets", {}, true],
    ["mutual TLS over TCP", { host: "127.0.0.1" }, true],
    ["one-way TLS", { host: "127.0.0.1" }, false],
  ])("runs calls, streams and nested calls with %s", async (_name, workerOptions, mutual) => {
    const credentials = authority.worker({ mutual });
    await using pool = await WorkerPool.start({ size: 2, credentials, workerOptions });
    expect([...pool.workers.values()].map(({ secure }) => secure)).toEqual([true, true]);
    expect(await add(1, 2)).toBe(3);
    const counted: number[] = [];
    for await (const number of count(5)) counted.push(number);
    expect(counted).toEqual([0, 1, 2, 3, 4]);
    expect(await nested(6)).toHaveLength(7);
    // On private sockets it would go through a file in a directory that this process keeps.
    if (!("host" in workerOptions)) return;
    const big = new Uint8Array(20_000_000).fill(7);
    expect((await routine(async (bytes: Uint8Array) => bytes)(big)).length).toBe(big.length);
  });

  test("goes to a worker by its identity where the host says nothing", async () => {
    const uri = "spiffe://example.org/worker";
    const own = authority.worker({ names: [uri] });
    const credentials = new WorkerCredentialsProvider(() => own, { identity: uri });
    await using _pool = await WorkerPool.start({ size: 2, credentials });
    expect(await nested(3)).toHaveLength(4);
  });

  test("refuses credentials for its workers that it could not use them with", async () => {
    const start = WorkerPool.start({ size: 1, workerOptions: { credentials: authority.worker() } });
    expect(await reasonOf(start)).toMatchObject({ code: "WOOL_INVALID_ARGUMENT" });
  });

  test("does not start workers without a key", async () => {
    const reason = await reasonOf(WorkerPool.start({ size: 1, credentials: authority.bare() }));
    expect(reason).toBeInstanceOf(InvalidArgument);
    expect(String(reason)).toContain("the credentials of a worker need a key and a cert");
  });
});

describe("a worker with credentials", () => {
  test("is asked for its idle time, its health and to stop over TLS", async () => {
    const worker = new LocalWorker({ host: "127.0.0.1", credentials: authority.worker() });
    await worker.start();
    await using connection = new WorkerConnection(worker.metadata ?? "", { credentials: authority.client() });
    expect(await connection.idleTime()).toBeGreaterThanOrEqual(0);
    expect(await connection.dispatch(add, 2, 3)).toBe(5);
    await connection.stop();
    await worker.stop();
  });

  test("has its private key neither in its arguments nor in its environment", async () => {
    await using worker = new LocalWorker({ credentials: authority.worker() });
    await worker.start();
    const pid = worker.metadata?.pid;
    for (const file of ["cmdline", "environ"]) {
      expect(readFileSync(`/proc/${pid}/${file}`, "latin1")).not.toContain("PRIVATE KEY");
    }
    expect(String(execFileSync("ps", ["-ww", "-o", "args=", "-p", String(pid)]))).not.toContain("PRIVATE KEY");
  });

  test("runs nothing for callers without credentials, and is not seen by them", async () => {
    await using worker = new LocalWorker({ host: "127.0.0.1", credentials: authority.worker() });
    await worker.start();
    await using proxy = new WorkerProxy({
      discovery: new StaticDiscovery([worker.metadata ?? ""]),
      quorumTimeout: 100,
    });
    const reason = await reasonOf(proxy.dispatch(whereFrom));
    expect(reason).toBeInstanceOf(NoWorkersAvailable);
    expect(String(reason)).toContain("1 with TLS was not used, because no credentials are given here");
  });

  test("is not used by callers with credentials when it has none itself", async () => {
    await using worker = new LocalWorker();
    await worker.start();
    const credentials = authority.client();
    await using proxy = new WorkerProxy({
      discovery: new StaticDiscovery([worker.metadata ?? ""]),
      quorumTimeout: 100,
      credentials,
    });
    const reason = await reasonOf(proxy.dispatch(whereFrom));
    expect(String(reason)).toContain("1 without TLS was not used, because credentials are given here");
  });
});

test("the private key of credentials cannot travel in a task", async () => {
  await using _pool = await WorkerPool.start({ size: 1 });
  const credentials = authority.worker();
  const take = routine(async (value: unknown) => typeof value);
  expect(await reasonOf(take(credentials))).toMatchObject({ code: "WOOL_SERIALIZATION" });
  expect(await reasonOf(take([new WorkerCredentialsProvider(() => credentials)]))).toMatchObject({
    code: "WOOL_SERIALIZATION",
  });
  const captures = routine(async () => credentials instanceof WorkerCredentials);
  expect(await reasonOf(captures())).toMatchObject({ code: "WOOL_SERIALIZATION" });
});
