import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import {
  InvalidArgument,
  LocalWorker,
  routine,
  WorkerConnection,
  type WorkerLike,
  WorkerPool,
  WorkerStartError,
} from "wool-ts";
import { expectNoOpenPool, expectNothingLeft } from "../../support/nothing-left.ts";
import { isRunning, runningChildren } from "../../support/processes.ts";
import { errorOf } from "../../support/reason-of.ts";
import { fixture } from "../../support/run-program.ts";
import { until } from "../../support/until.ts";

const pid = routine(async () => process.pid);

expectNothingLeft(expectNoOpenPool);

async function startError(starting: Promise<unknown>): Promise<WorkerStartError> {
  const error = await errorOf(starting, WorkerStartError);
  expect(error).toMatchObject({ code: "WOOL_WORKER_START", name: "WorkerStartError" });
  return error;
}

describe("a pool whose workers cannot start", () => {
  test("because a module to preload is missing, names the module", async () => {
    const options = { size: 2, workerOptions: { preload: ["no-such-module-anywhere"] } };
    const { message } = await startError(WorkerPool.start(options));
    expect(message).toContain(
      `the package "no-such-module-anywhere" is not installed in ${process.cwd()}: install it there`,
    );
  });

  test("because a module to preload throws, tells what it threw and wrote to stderr", async () => {
    const options = { size: 1, workerOptions: { preload: [fixture("lifecycle/throws.mjs")] } };
    const { message } = await startError(WorkerPool.start(options));
    expect(message).toContain("no licence");
    expect(message).toContain("the licence server cannot be reached");
  });

  test("because a module to preload ends the process, tells the exit code", async () => {
    const options = { size: 1, workerOptions: { preload: [fixture("lifecycle/exits.mjs")] } };
    const { message } = await startError(WorkerPool.start(options));
    expect(message).toContain("7");
  });

  test("because a task thread has too little memory for its code, says so", async () => {
    const options = { size: 1, workerOptions: { resourceLimits: { maxOldGenerationSizeMb: 2 } } };
    const { message } = await startError(WorkerPool.start(options));
    // An engine without the memory to start a thread at all ends the process.
    expect(message).toMatch(/memory limit|out of memory/);
  });

  test("because node does not know an option, tells what node said", async () => {
    const { message } = await startError(
      WorkerPool.start({ size: 2, workerOptions: { execArgv: ["--no-such-option"] } }),
    );
    expect(message).toMatch(/bad option: --no-such-option/);
  });

  test("because the port is taken, names it", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const { message } = await startError(WorkerPool.start({ size: 1, workerOptions: { host: "127.0.0.1", port } }));
    expect(message).toMatch(new RegExp(`EADDRINUSE.*${port}`, "s"));
    await new Promise((resolve) => server.close(resolve));
  });

  test.each(["127.0.0.1:80", "[::1]", "no-such-host.invalid", "203.0.113.1"])(
    "because nothing can listen on %s, names the host and says why",
    async (host) => {
      const { message } = await startError(WorkerPool.start({ size: 1, workerOptions: { host } }));
      const start = `a worker process did not start: it cannot listen on host "${host}", port 0: `;
      expect(message.startsWith(start)).toBe(true);
      expect(message.slice(start.length)).toMatch(/^(getaddrinfo|listen) E\w+/);
      expect(message).toContain("it wrote nothing to stderr");
    },
  );

  test("because two of its workers are to listen on one port, names the port", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    await new Promise((resolve) => server.close(resolve));
    const { message } = await startError(WorkerPool.start({ size: 2, workerOptions: { host: "127.0.0.1", port } }));
    expect(message).toContain(`it cannot listen on host "127.0.0.1", port ${port}: listen EADDRINUSE`);
  });

  test("stops the others when one of them fails", async () => {
    const made: LocalWorker[] = [];
    const factory = (): WorkerLike => {
      const preload = made.length === 1 ? ["no-such-module-anywhere"] : [];
      const worker = new LocalWorker({ preload });
      made.push(worker);
      return worker;
    };
    await startError(WorkerPool.start({ size: 3, worker: factory }));
    expect(made).toHaveLength(3);
    for (const worker of made) expect(isRunning(worker.metadata?.pid)).toBe(false);
  });

  test("rejects with what a worker of one's own says, or with that it says nothing", async () => {
    const silent: WorkerLike = {
      uid: "silent",
      tags: new Set(),
      extra: {},
      metadata: undefined,
      address: undefined,
      start: async () => undefined,
      stop: async () => undefined,
    };
    const failing: WorkerLike = { ...silent, start: () => Promise.reject(new RangeError("no room")) };
    await expect(WorkerPool.start({ size: 1, worker: () => failing })).rejects.toThrow(new RangeError("no room"));
    const { message } = await startError(WorkerPool.start({ size: 1, worker: () => silent }));
    expect(message).toContain("silent");
  });

  test("does not keep the next one from starting", async () => {
    await startError(WorkerPool.start({ size: 1, workerOptions: { execArgv: ["--no-such-option"] } }));
    await using pool = await WorkerPool.start({ size: 1 });
    expect(await pid()).toBe([...pool.workers.values()][0]?.pid);
  });
});

describe("a LocalWorker", () => {
  test("by itself is started, reached, and stopped", async () => {
    const worker = new LocalWorker({ tags: ["alone"] });
    expect([worker.metadata, worker.address]).toEqual([undefined, undefined]);
    await worker.start();
    expect(worker.address).toBe(worker.metadata?.address);
    expect([...worker.tags]).toEqual(["alone"]);
    {
      await using connection = new WorkerConnection(worker.metadata ?? "");
      expect(await connection.dispatch(pid)).toBe(worker.metadata?.pid);
    }
    await expect(worker.start()).rejects.toBeInstanceOf(InvalidArgument);
    await Promise.all([worker.stop(), worker.stop()]);
    expect(isRunning(worker.metadata?.pid)).toBe(false);
  });

  test("that takes too long to start is ended", async () => {
    const worker = new LocalWorker({ preload: [fixture("lifecycle/hangs.mjs")] });
    const { message } = await startError(worker.start({ timeout: 500 }));
    expect(message).toContain("500 ms");
    await worker.stop();
  });

  test("that is stopped while it starts says so, and not how its process was ended", async () => {
    const before = runningChildren().length;
    const worker = new LocalWorker({ preload: [fixture("lifecycle/hangs.mjs")] });
    const failed = startError(worker.start());
    await until(() => runningChildren().length > before, "its process runs");
    await worker.stop();
    expect((await failed).message).toBe(`worker ${worker.uid} was stopped while it started`);
  });

  test("that was never started can be stopped", async () => {
    const worker = new LocalWorker();
    await worker.stop();
    await expect(worker.start()).rejects.toBeInstanceOf(InvalidArgument);
  });
});

test("a worker process whose parent ends before it has said anything ends, too", async () => {
  const main = fileURLToPath(new URL("../../../dist/process-main.cjs", import.meta.url));
  const child = spawn(process.execPath, [main, JSON.stringify({ threads: 2 })], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit");
  child.stdio[3]?.destroy();
  expect(await ended).toEqual([1, null]);
});
