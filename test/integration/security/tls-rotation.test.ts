import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";
import { expect, test } from "vitest";
import { routine, WorkerConnection, WorkerCredentials, WorkerCredentialsProvider, WorkerPool } from "wool-ts";
import { TestAuthority } from "../../support/certificates.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { until } from "../../support/until.ts";

expectNothingLeft();

const count = routine(async function* () {
  for (let i = 0; ; i++) yield i;
});
const add = routine(async (x: number, y: number) => x + y);
const nested = routine(async () => await add(20, 22));

/** The serial number of the certificate that a worker shows to a new connection. */
async function serialAt(address: string): Promise<string> {
  const [host, port] = address.split(":");
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false, ALPNProtocols: ["h2"] });
  socket.on("error", () => undefined);
  await new Promise((resolve) => socket.once("secureConnect", resolve));
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

test("certificates, keys and the authority are replaced on both sides while a stream runs", async () => {
  const [before, after] = [new TestAuthority(), new TestAuthority()];
  let current: WorkerCredentials = before.worker();
  const credentials = new WorkerCredentialsProvider(() => current);
  await using pool = await WorkerPool.start({ size: 2, credentials, workerOptions: { host: "127.0.0.1" } });
  const stream = count();
  expect((await stream.next()).value).toBe(0);
  const [worker] = pool.workers.values();
  const address = worker?.address ?? "";
  const first = await serialAt(address);

  current = after.worker();
  await credentials.refresh();
  await until(async () => (await serialAt(address)) !== first, "the worker shows the new certificate");

  expect((await stream.next()).value).toBe(1);
  expect(await add(1, 1)).toBe(2);
  // New connections, of callers and of workers to each other, use the new ones only.
  await using late = new WorkerConnection(worker ?? "", { credentials: after.client() });
  expect(await late.dispatch(nested)).toBe(42);
  await using stale = new WorkerConnection(worker ?? "", { credentials: before.client() });
  await expect(stale.idleTime()).rejects.toMatchObject({ code: "WOOL_HANDSHAKE" });
  expect((await stream.next()).value).toBe(2);
  await stream.return(undefined as never);
});

test("files that are replaced reach running workers by themselves", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wool-rotation-"));
  try {
    const authority = new TestAuthority().authority;
    const paths = { ca: join(directory, "ca.pem"), key: join(directory, "w.key"), cert: join(directory, "w.pem") };
    const pair = authority.issue({ role: "worker", names: ["127.0.0.1"] });
    writeFileSync(paths.ca, authority.cert);
    writeFileSync(paths.key, pair.key);
    writeFileSync(paths.cert, pair.cert);
    const credentials = WorkerCredentialsProvider.fromFiles(paths);
    await using pool = await WorkerPool.start({ size: 1, credentials, workerOptions: { host: "127.0.0.1" } });
    const address = [...pool.workers.values()][0]?.address ?? "";
    const first = await serialAt(address);
    writeFileSync(`${paths.cert}.new`, authority.renew(pair.cert));
    renameSync(`${paths.cert}.new`, paths.cert);
    await until(async () => (await serialAt(address)) !== first, "the worker shows the renewed certificate");
    expect(await add(2, 2)).toBe(4);
  } finally {
    rmSync(directory, { recursive: true });
  }
});

test("a worker that is started anew has the newest credentials", async () => {
  const authority = new TestAuthority();
  let current = authority.worker();
  const credentials = new WorkerCredentialsProvider(() => current);
  const { ResilientWorker } = await import("wool-ts");
  await using pool = await WorkerPool.start({
    size: 1,
    credentials,
    worker: (options) => new ResilientWorker({ ...options, host: "127.0.0.1" }),
  });
  const pid = await pool.dispatch(routine(async () => process.pid));
  const first = await serialAt([...pool.workers.values()][0]?.address ?? "");
  current = authority.worker();
  process.kill(pid, "SIGKILL");
  await until(() => [...pool.workers.values()].some((worker) => worker.pid !== pid), "the worker is back");
  expect(await serialAt([...pool.workers.values()][0]?.address ?? "")).not.toBe(first);
  expect(await pool.dispatch(add, 3, 4)).toBe(7);
});
