import { execFile } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { createServer, type Server, type Socket } from "node:net";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { LocalWorker, routine, WoolError, WorkerConnection } from "wool-ts";
import { isRunning, killProcess } from "../../support/processes.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

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

describe("a WorkerConnection throws only errors of this package", () => {
  const one = routine(async () => 1);
  const uses: readonly ((connection: WorkerConnection) => Promise<unknown>)[] = [
    (connection) => connection.idleTime(),
    (connection) => connection.stop(),
    (connection) => connection.dispatch(one),
  ];

  async function expectWoolErrors(address: string): Promise<void> {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    await using connection = new WorkerConnection(address);
    for (const use of uses) {
      const reason = await reasonOf(use(connection));
      expect(reason).toBeInstanceOf(WoolError);
      expect((reason as WoolError).code).toMatch(/^WOOL_/);
    }
    warn.mockRestore();
  }

  test.each<[string, () => Server]>([
    ["hangs up", () => createServer((socket) => socket.destroy())],
    [
      "sends noise",
      () =>
        createServer((socket: Socket) => {
          socket.on("error", () => undefined);
          socket.write(Buffer.alloc(1000, 7));
        }),
    ],
    ["speaks HTTP/1", () => createHttpServer((_request, response) => response.end("hello"))],
  ])("to a peer that %s", async (_what, make) => {
    const server = make();
    const sockets = new Set<Socket>();
    server.on("connection", (socket: Socket) => sockets.add(socket));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (typeof address !== "object" || address === null) throw new Error("it does not listen");
    try {
      await expectWoolErrors(`127.0.0.1:${address.port}`);
    } finally {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  test.each(["127.0.0.1:1", "unix:/nowhere/at/all.sock"])("to %s", async (address) => {
    await expectWoolErrors(address);
  });

  test("to a worker that has been killed, and after it was given back", async () => {
    const worker = new LocalWorker();
    await worker.start();
    const { metadata } = worker;
    if (metadata === undefined) throw new Error("it was not started");
    const connection = new WorkerConnection(metadata);
    expect(await connection.dispatch(one)).toBe(1);
    killProcess(metadata.pid);
    await until(() => !isRunning(metadata.pid), "it is gone");
    for (const use of uses) expect(await reasonOf(use(connection))).toBeInstanceOf(WoolError);
    await connection[Symbol.asyncDispose]();
    for (const use of uses) expect(await reasonOf(use(connection))).toBeInstanceOf(WoolError);
    await worker.stop();
  });
});
