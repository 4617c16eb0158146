import { createConnection, createServer, type Server, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { status } from "@grpc/grpc-js";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import {
  LocalWorker,
  routine,
  SerializationError,
  StaticDiscovery,
  WorkerLost,
  type WorkerMetadata,
  type WorkerOptions,
  WorkerPool,
} from "wool-ts";
import { RequestSchema, Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { expectNothingLeft } from "../../support/nothing-left.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";

const LEAST = 131_072;
const size = routine(async (value: unknown) => JSON.stringify(value).length);
const repeated = routine(async (text: string, times: number) => text.repeat(times));
const forever = routine(async () => await new Promise<never>(() => undefined));
const lengths = routine(async function* (): AsyncGenerator<number, void, string> {
  for (let text = yield 0; ; text = yield text.length);
});

let worker: LocalWorker | undefined;

expectNothingLeft();
beforeEach(() => {
  vi.spyOn(process, "emitWarning").mockReturnValue();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await worker?.stop();
  worker = undefined;
});

/** A worker on TCP that belongs to no pool. */
async function start(options: WorkerOptions): Promise<WorkerMetadata> {
  worker = new LocalWorker({ host: "127.0.0.1", ...options });
  await worker.start();
  if (worker.metadata === undefined) throw new Error("it has no metadata");
  return worker.metadata;
}

/** A pool that knows nothing of a worker but its address. */
async function poolOf(found: WorkerMetadata | string): Promise<WorkerPool> {
  return await WorkerPool.start({ discovery: new StaticDiscovery([found]) });
}

test("threads and maxConcurrency are told to callers as they are at the worker", async () => {
  const { address } = await start({ threads: 3, maxConcurrency: 2, channel: { keepaliveInterval: 5000 } });
  await using pool = await poolOf(address);
  expect(await size([1])).toBe(3);
  const [known] = pool.workers.values();
  expect(known?.channel).toEqual({ threads: 2, maxConcurrency: 2, keepaliveInterval: 5000 });
});

test("maxMessageBytes: nothing larger is sent to it, and payloads of any size arrive", async () => {
  const { address } = await start({ channel: { maxMessageBytes: LEAST } });
  await using _pool = await poolOf(address);
  const text = "x".repeat(60_000);
  const sizes = await Promise.all(Array.from({ length: 100 }, () => size(text)));
  expect(new Set(sizes)).toEqual(new Set([60_002]));
  expect(await size("y".repeat(2_000_000))).toBe(2_000_002);
  const stream = lengths();
  await stream.next();
  expect(await stream.next("z".repeat(500_000))).toEqual({ done: false, value: 500_000 });
  await stream.return(undefined);
});

test("maxMessageBytes: code that would be larger is refused at the call, and nothing else is lost", async () => {
  const { address } = await start({ channel: { maxMessageBytes: LEAST } });
  await using _pool = await poolOf(address);
  const table = "t".repeat(200_000);
  const lookUp = routine(async () => table.length);
  const running = forever
    .with({ timeout: 60_000 })()
    .catch((error: unknown) => error);
  const error = await reasonOf(lookUp());
  expect(error).toBeInstanceOf(SerializationError);
  expect(String(error)).toMatch(/lookUp.*takes 2\d{5} bytes in one piece.*at most 131072 \(channel\.maxMessageBytes\)/);
  expect(await size([])).toBe(2);
  expect(await Promise.race([running, size("still")])).toBe(7);
});

test("maxMessageBytes: a larger message that it gets is RESOURCE_EXHAUSTED", async () => {
  const { address } = await start({ channel: { maxMessageBytes: LEAST } });
  using client = new GrpcWorker(address);
  const stream = client.open(Worker.method.dispatch);
  const hello = { version: 1, minimumVersion: 1, callerId: "c" };
  stream.send(toBinary(RequestSchema, create(RequestSchema, { hello })));
  await stream.message(0);
  const args = new Uint8Array(LEAST);
  stream.send(toBinary(RequestSchema, create(RequestSchema, { tasks: [{ id: 1, route: 1, args }] })));
  expect(await stream.ended).toMatchObject({
    code: status.RESOURCE_EXHAUSTED,
    details: expect.stringContaining("limit of 131072 bytes") as unknown,
  });
});

/** Passes bytes on between callers and a worker, and counts them. */
class CountingRelay implements AsyncDisposable {
  sent = 0;
  received = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(port: number) {
    this.#server = createServer((caller) => {
      const behind = createConnection({ host: "127.0.0.1", port });
      for (const socket of [caller, behind]) {
        this.#sockets.add(socket);
        socket.on("error", () => undefined);
      }
      caller.on("data", (bytes) => {
        this.sent += bytes.length;
        behind.write(bytes);
      });
      behind.on("data", (bytes) => {
        this.received += bytes.length;
        caller.write(bytes);
      });
      caller.on("close", () => behind.destroy());
      behind.on("close", () => caller.destroy());
    });
  }

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (typeof address !== "object" || address === null) throw new Error("it does not listen");
    return `127.0.0.1:${address.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

test.each(["gzip", "none"] as const)(
  "compression: what travels shrinks in both directions, or not (%s)",
  async (compression) => {
    const metadata = await start({ channel: { compression } });
    await using relay = new CountingRelay(Number(metadata.address.split(":")[1]));
    const address = await relay.listen();
    {
      await using _pool = await poolOf(address);
      const text = "all work and no play ".repeat(50_000);
      expect(await size(text)).toBe(text.length + 2);
      expect(await repeated("ten bytes!", 100_000)).toHaveLength(1_000_000);
    }
    if (compression === "gzip") {
      expect(relay.sent).toBeLessThan(100_000);
      expect(relay.received).toBeLessThan(100_000);
    } else {
      expect(relay.sent).toBeGreaterThan(1_000_000);
      expect(relay.received).toBeGreaterThan(1_000_000);
    }
  },
);

test("keepaliveInterval and keepaliveTimeout: a frozen worker is given up when it says so", async () => {
  const { address, pid } = await start({ channel: { keepaliveInterval: 30, keepaliveTimeout: 170 } });
  await using pool = await poolOf(address);
  const call = forever().catch((error: unknown) => error);
  await until(() => pool.stats().inFlight === 1, "the task is at the worker");
  process.kill(pid, "SIGSTOP");
  try {
    const error = await call;
    expect(error).toBeInstanceOf(WorkerLost);
    expect(String(error)).toContain("did not answer a keepalive PING within 170 ms");
  } finally {
    process.kill(pid, "SIGCONT");
  }
});
