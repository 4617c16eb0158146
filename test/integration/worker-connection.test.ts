import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";

const run = promisify(execFile);

/** What a program prints that has a worker and a connection to it. Rejects when it ends with an exit code. */
async function printed(program: string): Promise<string> {
  const source = `
    import { LocalWorker, WorkerConnection } from "wool-ts";
    const worker = new LocalWorker();
    await worker.start();
    const connection = new WorkerConnection(worker.metadata);
    ${program}`;
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], { timeout: 20_000 });
  return stdout.trim();
}

test("a proxy that was stopped does not keep the program alive when its worker never welcomes it", async () => {
  const source = `
    import { createServer } from "node:http2";
    import { routine, WorkerConnection, WorkerProxy } from "wool-ts";
    const server = createServer();
    const streams = new Promise((resolve) => server.on("stream", (stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.on("error", () => undefined);
      resolve();
    }));
    server.on("session", (session) => { session.unref(); session.on("error", () => undefined); });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    server.unref();
    const metadata = { uid: "w", address: "127.0.0.1:" + server.address().port, pid: 0, version: "", tags: new Set(), extra: {}, secure: false, channel: {} };
    const proxy = new WorkerProxy({ workers: [metadata] });
    const call = proxy.dispatch(routine(async () => 1)).catch((error) => error.name);
    await streams;
    await proxy.stop();
    console.log(await call);`;
  // It would be given up after ten seconds.
  const { stdout } = await run(process.execPath, ["--input-type=module", "-e", source], { timeout: 9000 });
  expect(stdout.trim()).toBe("PoolClosed");
});

describe("a WorkerConnection keeps the program alive", () => {
  test("until it knows the idle time, and no longer", async () => {
    expect(await printed("console.log(typeof (await connection.idleTime()));")).toBe("number");
  });

  test("until it knows the idle time a second time", async () => {
    expect(await printed("await connection.idleTime(); console.log(typeof (await connection.idleTime()));")).toBe(
      "number",
    );
  });

  test("until the worker is gone", async () => {
    expect(await printed("await connection.stop(); console.log('stopped');")).toBe("stopped");
  });
});
