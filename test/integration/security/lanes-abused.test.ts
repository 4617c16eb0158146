import { once } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import { status } from "@grpc/grpc-js";
import { afterEach, describe, expect, test } from "vitest";
import { LocalWorker, routine, WorkerConnection, type WorkerOptions } from "wool-ts";
import { Worker } from "../../../src/gen/wool/v1/worker_pb.ts";
import { announce, task } from "../../support/announce.ts";
import { GrpcWorker } from "../../support/grpc-worker.ts";
import { connectionsAt, type OpenedLane, openLane, RawLane } from "../../support/raw-lane.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

const MIB = 1024 * 1024;
const add = routine(async (x: number, y: number) => x + y);
const text = (bytes: number): string => "x".repeat(bytes);

let worker: LocalWorker;
let client: GrpcWorker;
let address: string;

async function start(options: WorkerOptions = {}): Promise<void> {
  worker = new LocalWorker(options);
  await worker.start();
  address = worker.address ?? "";
  client = new GrpcWorker(address);
}

afterEach(async () => {
  client[Symbol.dispose]();
  await worker.stop();
});

/** A session that has shown its ticket. */
async function enter(): Promise<OpenedLane> {
  const opened = await openLane(client, address);
  opened.lane.send(Buffer.from(opened.ticket));
  return opened;
}

/** The worker serves others, in the same process. */
async function expectUnharmed(): Promise<void> {
  const pid = worker.metadata?.pid;
  await using connection = new WorkerConnection(address);
  expect(await connection.dispatch(add, 1, 2)).toBe(3);
  expect(await connection.dispatch(routine(async () => process.pid))).toBe(pid);
}

describe("results in a lane that nobody reads", () => {
  /** So many that most of them wait in the worker. */
  const fill = ({ lane }: OpenedLane): void => {
    lane.send(announce(text));
    lane.send(Buffer.concat(Array.from({ length: 200 }, (_, i) => task(i, [60_000]))));
  };
  const isFull = ({ lane }: OpenedLane): boolean => lane.socket.readableLength > 0;

  test("are dropped when their caller ends its session", async () => {
    await start();
    const session = await enter();
    fill(session);
    session.lane.socket.once("readable", () => undefined);
    await until(() => isFull(session), "results have come");
    session.stream.cancel();
    await until(() => connectionsAt(session.path) === 0, "the worker has closed the lane");
    session.lane.socket.destroy();
    await expectUnharmed();
  });

  test("are dropped when their caller does not read them in time", async () => {
    await start({ limits: { maxUnreadBytes: MIB, stallTimeout: 200 } });
    const session = await enter();
    fill(session);
    const end = await session.stream.ended;
    expect([end.code, end.details]).toEqual([
      status.RESOURCE_EXHAUSTED,
      expect.stringContaining("limits.stallTimeout"),
    ]);
    await until(() => connectionsAt(session.path) === 0, "the worker has closed the lane");
    session.lane.socket.destroy();
    await expectUnharmed();
  });

  test("are dropped when their caller sends what cannot be read", async () => {
    await start();
    const session = await enter();
    fill(session);
    session.lane.socket.once("readable", () => undefined);
    await until(() => isFull(session), "results have come");
    session.lane.send(Buffer.from([0x12, 0x7f, 0xff]));
    expect((await session.stream.ended).code).toBe(status.INVALID_ARGUMENT);
    await until(() => connectionsAt(session.path) === 0, "the worker has closed the lane");
    session.lane.socket.destroy();
    await expectUnharmed();
  });

  test("are kept for a caller that has only ended its direction of the stream", async () => {
    await start();
    const session = await enter();
    fill(session);
    session.lane.socket.once("readable", () => undefined);
    await until(() => isFull(session), "results have come");
    session.stream.halfClose();
    session.lane.read();
    expect((await session.stream.ended).code).toBe(status.OK);
    await session.lane.closed;
    expect(session.lane.messages.flatMap(({ results }) => results)).toHaveLength(200);
  });
});

describe("a lane", () => {
  test.each([
    ["claims to be 2 GB", (lane: RawLane) => lane.send(Buffer.alloc(10), 2 ** 31)],
    ["says that it is compressed", (lane: RawLane) => lane.socket.write(Buffer.from([1, 0, 0, 0, 1, 0]))],
    ["is not framed", (lane: RawLane) => lane.socket.write("GET / HTTP/1.1\r\n\r\n")],
  ])("ends with its session when a message %s", async (_what, send) => {
    await start();
    const { stream, lane } = await enter();
    lane.read();
    lane.send(announce(text));
    lane.send(task(0, [1]));
    await until(() => lane.messages.some(({ results }) => results.length > 0), "the lane is used");
    send(lane);
    await lane.closed;
    const { executorsLost } = await stream.message(1);
    expect(executorsLost).toHaveLength(1);
    await expectUnharmed();
  });

  test("ends with its session when its caller ends its direction, even inside of a message", async () => {
    await start();
    const { stream, lane } = await enter();
    lane.send(Buffer.alloc(10), 1000);
    lane.socket.end();
    expect((await stream.ended).code).toBe(status.UNAVAILABLE);
    await expectUnharmed();
  });

  test("takes no ticket of another task thread, and none twice", async () => {
    await start({ threads: 2 });
    const first = await enter();
    const second = await openLane(client, address);
    const other = client.open(Worker.method.dispatch);
    other.send(request({ hello: { version: 1, minimumVersion: 1, callerId: "other", takesLane: true, lane: 1 } }));
    const { welcome } = await other.message(0);
    expect(welcome?.laneSocket).not.toBe("");
    // That of the other thread, at this one.
    second.lane.read().send(Buffer.from(welcome?.laneTicket ?? ""));
    second.lane.send(Buffer.concat([announce(text), task(1, [1])]));
    // The own one, a second time.
    const again = new RawLane(first.path).read();
    again.send(Buffer.from(first.ticket));
    again.send(Buffer.concat([announce(text), task(2, [1])]));
    first.lane.read();
    first.lane.send(Buffer.concat([announce(text), task(3, [1])]));
    await until(() => first.lane.messages.some(({ results }) => results[0]?.id === 3), "its own caller is served");
    expect([second.lane.receivedBytes, again.receivedBytes]).toEqual([0, 0]);
    for (const { socket } of [second.lane, again]) socket.destroy();
    await expectUnharmed();
  });
});

test("connections to a task thread that show no ticket are few, keep nobody out and end", async () => {
  await start();
  const { path, lane } = await openLane(client, address);
  const silent = [lane];
  lane.socket.resume();
  while (silent.length < 1500) {
    const next = new RawLane(path);
    next.socket.resume();
    // More than can wait to be let in are refused, and come again.
    const isIn = await once(next.socket, "connect").then(
      () => true,
      () => false,
    );
    if (isIn) silent.push(next);
    else await pause(10);
  }
  await until(() => silent.filter(({ socket }) => !socket.destroyed).length <= 1024, "the first are dropped");
  await using connection = new WorkerConnection(address);
  expect(await connection.dispatch(add, 1, 2)).toBe(3);
  await Promise.all(silent.map(({ closed }) => closed));
  await until(() => connectionsAt(path) === 1, "only the lane of the caller is left");
  expect(await connection.dispatch(add, 3, 4)).toBe(7);
});
