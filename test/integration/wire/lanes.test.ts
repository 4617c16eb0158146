import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { status } from "@grpc/grpc-js";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { LocalWorker, routine, WorkerLost, type WorkerMetadata, WorkerPool } from "wool-ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { connectionsAt, type OpenedLane, openLane } from "../../support/raw-lane.ts";
import { reasonOf } from "../../support/reason-of.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

const add = routine(async (x: number, y: number) => x + y);

function onlyWorker(pool: WorkerPool): WorkerMetadata {
  const [worker] = pool.workers.values();
  if (worker === undefined) throw new Error("the pool has no worker");
  return worker;
}

/** The sockets of task threads in the directory of a worker. */
function laneSockets({ address }: WorkerMetadata): string[] {
  const path = address.slice("unix:".length);
  const name = `${basename(path, ".sock")}.`;
  const isLane = (file: string): boolean => file.startsWith(name) && !file.endsWith(".sock");
  return readdirSync(dirname(path)).flatMap((file) => (isLane(file) ? [join(dirname(path), file)] : []));
}

describe("the lane of a task thread", () => {
  test("has the calls of a pool on this machine, one connection for each thread", async () => {
    const pool = await WorkerPool.start({ size: 1, workerOptions: { threads: 2 } });
    const worker = onlyWorker(pool);
    const before = laneSockets(worker);
    expect(before).toHaveLength(2);
    expect(await Promise.all(Array.from({ length: 50 }, (_, i) => pool.dispatch(add, i, 1)))).toHaveLength(50);
    expect(before.map(connectionsAt)).toEqual([1, 1]);
    await pool.stop();
    expect(before.filter((path) => existsSync(path))).toEqual([]);
  });

  test("is replaced with its thread, and has the calls after that", async () => {
    await using pool = await WorkerPool.start({ size: 1 });
    const worker = onlyWorker(pool);
    const [before = ""] = laneSockets(worker);
    const exit = routine(async () => process.exit(3));
    expect(await reasonOf(pool.dispatch(exit))).toBeInstanceOf(WorkerLost);
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
    const lanes = laneSockets(worker);
    expect(lanes).toHaveLength(1);
    expect(lanes).not.toContain(before);
    expect(lanes.map(connectionsAt)).toEqual([1]);
  });

  test.each([
    [
      "its socket is gone",
      (paths: string[]) => {
        for (const path of paths) rmSync(path);
      },
    ],
    [
      "a file is in its place",
      (paths: string[]) => {
        for (const path of paths) {
          rmSync(path);
          writeFileSync(path, "");
        }
      },
    ],
  ])("is not needed: calls are made when %s", async (_what, spoil) => {
    await using pool = await WorkerPool.start({ size: 1 });
    spoil(laneSockets(onlyWorker(pool)));
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
    const count = routine(async function* (n: number) {
      for (let i = 0; i < n; i++) yield i;
    });
    const counted: number[] = [];
    for await (const value of pool.dispatch(count, 3)) counted.push(value);
    expect(counted).toEqual([0, 1, 2]);
  });

  test("is not used on TCP", async () => {
    await using pool = await WorkerPool.start({ size: 1, workerOptions: { host: "127.0.0.1" } });
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
  });
});

describe("a task thread that ends with messages in its lane that it has not read", () => {
  let directory: string;
  let tokens: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "lanes-"));
    tokens = join(directory, "tokens");
    writeFileSync(tokens, "");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  test("leaves them to its successor, and each task is run once", async () => {
    await using pool = await WorkerPool.start({ size: 1, worker: (options) => new LocalWorker(options) });
    const leave = routine(async (file: string, i: number) => {
      appendFileSync(file, `${i}\n`);
      return i;
    });
    const blockAndExit = routine(async (file: string) => {
      appendFileSync(file, "blocking\n");
      const end = Date.now() + 400;
      while (Date.now() < end);
      process.exit(3);
    });
    expect(await pool.dispatch(leave, tokens, -1)).toBe(-1);
    const lost = reasonOf(pool.dispatch(blockAndExit, tokens));
    await until(() => readFileSync(tokens, "utf8").includes("blocking"), "the thread is blocked");
    const calls = Array.from({ length: 20 }, (_, i) => pool.dispatch(leave, tokens, i));
    expect(await lost).toBeInstanceOf(WorkerLost);
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 20 }, (_, i) => i));
    const lines = readFileSync(tokens, "utf8").trim().split("\n");
    expect(lines.toSorted()).toEqual(["-1", "blocking", ...Array.from({ length: 20 }, (_, i) => `${i}`)].toSorted());
  });
});

describe("a session with a lane", () => {
  let pool: WorkerPool;
  let worker: WorkerMetadata;
  let client: GrpcWorker;

  beforeAll(async () => {
    pool = await WorkerPool.start({ size: 1 });
    worker = onlyWorker(pool);
    client = new GrpcWorker(worker.address);
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await pool.stop();
  });

  async function open(): Promise<OpenedLane> {
    const opened = await openLane(client, worker.address);
    opened.lane.read();
    return opened;
  }

  const brokenTask = (id: number): Uint8Array => {
    const routes = [{ number: 1, name: "broken", code: Buffer.from("no function") }];
    return Buffer.concat([request({ routes }), request({ tasks: [{ route: 1, id }] })]);
  };

  async function expectUnharmed(): Promise<void> {
    expect(await pool.dispatch(add, 1, 2)).toBe(3);
    expect(onlyWorker(pool).pid).toBe(worker.pid);
  }

  test("answers there, and not in its stream", async () => {
    const { stream, lane, ticket } = await open();
    lane.send(Buffer.from(ticket));
    lane.send(brokenTask(7));
    await until(() => lane.messages.some(({ raised }) => raised[0]?.id === 7), "the task is answered");
    stream.cancel();
    await lane.closed;
    await expectUnharmed();
  });

  test("ends with its lane, and says how many messages were read", async () => {
    const { stream, lane, ticket } = await open();
    lane.send(Buffer.from(ticket));
    lane.send(brokenTask(1));
    lane.send(brokenTask(2));
    await until(() => lane.messages.flatMap(({ raised }) => raised).length === 2, "both are answered");
    lane.socket.destroy();
    const { executorsLost } = await stream.message(1);
    // The hello and two messages.
    expect(executorsLost).toMatchObject([{ taken: 3n }]);
    expect((await stream.ended).code).toBe(status.UNAVAILABLE);
    await expectUnharmed();
  });

  test("ends when its lane has messages that cannot be read", async () => {
    const { stream, lane, ticket } = await open();
    lane.send(Buffer.from(ticket));
    lane.send(Buffer.from([0x12, 0x7f, 0xff]));
    await lane.closed;
    expect((await stream.ended).code).toBe(status.INVALID_ARGUMENT);
    await expectUnharmed();
  });

  test.each([
    ["a ticket that nobody has", () => "x".repeat(32)],
    ["the ticket of a lane that is in use", (ticket: string) => ticket],
  ])("is not opened with %s", async (_what, choose) => {
    const { stream, lane, ticket } = await open();
    lane.send(Buffer.from(ticket));
    lane.send(brokenTask(1));
    await until(() => lane.messages.length > 0, "the task is answered");
    const { lane: stranger } = await open();
    stranger.send(Buffer.from(choose(ticket)));
    stranger.send(brokenTask(2));
    lane.send(brokenTask(3));
    await until(() => lane.messages.some(({ raised }) => raised[0]?.id === 3), "the other lane goes on");
    expect(stranger.messages).toEqual([]);
    stranger.socket.destroy();
    stream.cancel();
    await expectUnharmed();
  });

  test("closes a lane whose first message is no ticket", async () => {
    const { lane } = await open();
    lane.send(Buffer.alloc(1000));
    await lane.closed;
    await expectUnharmed();
  });
});
