import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { LocalWorker, routine, WorkerConnection, type WorkerLimits } from "wool-ts";
import { contentHash } from "../../../src/functions/index.ts";
import { encode } from "../../../src/values/index.ts";
import { announce, task } from "../../support/announce.ts";
import { RawLaneSession } from "../../support/raw-lane.ts";
import { RawSession } from "../../support/raw-session.ts";
import { until } from "../../support/until.ts";
import { request } from "../../support/wire-requests.ts";

const RESOURCE_EXHAUSTED = "8";
const whereabouts = routine(async () => process.pid);
let worker: LocalWorker | undefined;

beforeEach(() => {
  worker = undefined;
});
afterEach(async () => await worker?.stop());

async function workerWith(limits: WorkerLimits = {}): Promise<string> {
  worker = new LocalWorker({ limits });
  await worker.start();
  return worker.address ?? "";
}

/** Limits hold for one connection each, so callers that cross different ones may have the same worker. */
const COUNTS: WorkerLimits = {
  maxLiveTasks: 50,
  maxUnfinishedPayloads: 20,
  maxAnnouncements: 50,
  maxEarlyFrames: 100,
  maxCredit: 1000,
};
const BYTES: WorkerLimits = { maxUnfinishedBytes: 3_000_000, maxWaitingBytes: 1_000_000, maxAnnouncedBytes: 1_000_000 };
const lasting = new Map<WorkerLimits, LocalWorker>();

async function lastingWorker(limits: WorkerLimits): Promise<LocalWorker> {
  let found = lasting.get(limits);
  if (found === undefined) {
    found = new LocalWorker({ limits });
    lasting.set(limits, found);
    await found.start();
  }
  return found;
}
afterAll(async () => {
  await Promise.all([...lasting.values()].map((each) => each.stop()));
});

/** The worker is the process that was started, and takes calls of others. */
async function expectUnharmed(address: string, who = worker): Promise<void> {
  await using connection = new WorkerConnection(address);
  expect(await connection.dispatch(whereabouts)).toBe(who?.metadata?.pid);
}

function memoryOf(pid: number | undefined): number {
  const { readFileSync } = process.getBuiltinModule("node:fs");
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

const never = (): Promise<never> => new Promise(() => undefined);
const stuck = async function* (): AsyncGenerator<number> {
  await new Promise(() => undefined);
  yield 1;
};

const idle = function* (): Generator<number> {
  for (;;) yield 1;
};

/** A shared value of which there is nothing but the announcement. */
const SHARE_NUMBER = 99;
const SHARE = request({
  dependencies: [
    {
      number: SHARE_NUMBER,
      hash: contentHash("something"),
      data: Buffer.from(JSON.stringify({ kind: "shared", bytes: 1000, inner: [] })),
    },
  ],
});
const waiting = (id: number) => ({ id, route: 1, needs: [SHARE_NUMBER], sequence: BigInt(id + 1) });
const NO_ARGUMENTS = Buffer.from(encode([]));
const LARGE_VALUE = Buffer.from(encode("x".repeat(100_000)));
const NAME = "n".repeat(100_000);

/** A description of 100 kB of a pool. */
function largePool(i: number): Buffer {
  const json = { id: `${i} ${"x".repeat(100_000)}`, version: 1, isComplete: true, members: [], removed: [] };
  return Buffer.from(JSON.stringify(json));
}

describe("a caller that takes more than it may loses its connection, with the reason, and nobody else does", () => {
  const cases: [string, WorkerLimits, (session: RawSession) => Promise<unknown>, string][] = [
    [
      "tasks that do not end",
      COUNTS,
      async (session) => {
        session.send(announce(never));
        await session.pour(60, (i) => task(i, []));
      },
      "more than 50 tasks that have not ended",
    ],
    ...[51, 5_000_000].map((calls): (typeof cases)[number] => [
      `${calls} calls in a pack`,
      COUNTS,
      async (session) => {
        session.send(announce(never));
        const items = Array.from({ length: calls }, () => 0);
        await session.pour(1, () => request({ tasks: [{ id: 1, route: 1, sequence: 1n, items }] }));
      },
      "more than 50 tasks that have not ended",
    ]),
    [
      "payloads that are never finished",
      COUNTS,
      (session) => session.pour(30, (i) => request({ chunks: [{ id: i, data: Buffer.alloc(10), total: 1_000_000n }] })),
      "more than 20 incomplete payloads",
    ],
    [
      "bytes of payloads that are never finished",
      BYTES,
      (session) =>
        session.pour(100, (i) => request({ chunks: [{ id: i, data: Buffer.alloc(100_000), total: 2_000_000n }] })),
      "more than 3000000 bytes of incomplete payloads",
    ],
    [
      "a payload that is too large",
      BYTES,
      (session) => session.pour(1, () => request({ chunks: [{ id: 1, data: Buffer.alloc(1), total: 3_000_001n }] })),
      "more than 3000000 bytes in one payload: it has 3000001 (limits.maxUnfinishedBytes)",
    ],
    [
      "tasks that wait for a shared value which does not come",
      BYTES,
      async (session) => {
        session.send(announce((x: unknown) => x));
        session.send(SHARE);
        await session.pour(20, (i) => request({ tasks: [{ ...waiting(i), args: Buffer.alloc(100_000) }] }));
      },
      "more than 1000000 bytes of tasks and steps that cannot be run yet (limits.maxWaitingBytes)",
    ],
    [
      "steps that wait for a shared value which does not come",
      BYTES,
      async (session) => {
        session.send(announce(idle));
        session.send(SHARE);
        session.send(task(0, []));
        await session.pour(20, () =>
          request({ steps: [{ id: 0, kind: 1, needs: [SHARE_NUMBER], value: Buffer.alloc(100_000) }] }),
        );
      },
      "more than 1000000 bytes of tasks and steps",
    ],
    [
      "steps that a generator does not come to, by their bytes",
      BYTES,
      async (session) => {
        session.send(announce(stuck));
        session.send(task(0, []));
        session.send(task(1, []));
        await session.pour(40, (i) => request({ steps: [{ id: i % 2, kind: 1, value: LARGE_VALUE }] }));
      },
      "more than 1000000 bytes of tasks and steps",
    ],
    [
      "names of tasks that do not end",
      BYTES,
      async (session) => {
        session.send(announce(never));
        await session.pour(20, (i) =>
          request({ tasks: [{ id: i, route: 1, sequence: 1n, caller: NAME, key: NAME, args: NO_ARGUMENTS }] }),
        );
      },
      "more than 1000000 bytes of tasks and steps",
    ],
    [
      "bytes of payloads that are never finished, of all callers together",
      { maxUnfinishedTotal: 3_000_000 },
      (session) =>
        session.pour(100, () => request({ chunks: [{ id: 1, data: Buffer.alloc(100_000), total: 900_000_000n }] })),
      "more than 3000000 bytes of incomplete payloads and messages of all callers together",
    ],
    [
      "time between the pieces of a payload",
      { unfinishedTimeout: 100 },
      async (session) => {
        session.send(request({ chunks: [{ id: 1, data: Buffer.alloc(10), total: 1_000_000n }] }));
      },
      "no piece of an incomplete payload or message came for 100 ms",
    ],
    [
      "routines",
      COUNTS,
      (session) => session.pour(60, (i) => request({ routes: [{ number: i + 1, name: "r", code: Buffer.alloc(9) }] })),
      "more than 50 routines",
    ],
    [
      "bytes of pools",
      BYTES,
      (session) => session.pour(20, (i) => request({ pools: [{ number: i + 1, description: largePool(i) }] })),
      "more than 1000000 bytes of routines",
    ],
    [
      "code",
      COUNTS,
      (session) =>
        session.pour(60, (i) =>
          request({ dependencies: [{ number: i, hash: contentHash("{}"), data: Buffer.from("{}") }] }),
        ),
      "more than 50 routines",
    ],
    [
      "aborts before their task",
      COUNTS,
      (session) => session.pour(200, () => request({ aborts: [{ id: 7, early: true }] })),
      "more than 100 steps and aborts",
    ],
    [
      "steps of a generator that does not come to them",
      COUNTS,
      async (session) => {
        session.send(announce(stuck));
        session.send(task(0, []));
        await session.pour(200, () => request({ steps: [{ id: 0, kind: 1 }] }));
      },
      "more than 100 steps",
    ],
    [
      "credit",
      COUNTS,
      async (session) => {
        session.send(announce(stuck));
        session.send(task(0, []));
        await session.pour(5, () => request({ credits: [{ id: 0, steps: 400 }] }));
      },
      "more than 1000 steps of a generator",
    ],
    [
      "credit, by a step that says how many came before it",
      COUNTS,
      async (session) => {
        session.send(announce(idle));
        session.send(task(0, []));
        await session.pour(5, () => request({ steps: [{ id: 0, kind: 2, after: 1001 }] }));
      },
      "more than 1000 steps of a generator",
    ],
  ];

  test.each(cases)("%s", async (_name, limits, attack, reason) => {
    const attacked = await lastingWorker(limits);
    const address = attacked.address ?? "";
    using session = new RawSession(address);
    session.read();
    await attack(session);
    const { status, message } = await session.ended;
    expect(status).toBe(RESOURCE_EXHAUSTED);
    expect(message).toContain(reason);
    await expectUnharmed(address, attacked);
  });
});

test("changes of a pool do not count for ever", async () => {
  const address = await workerWith({ maxAnnouncedBytes: 100_000 });
  using session = new RawSession(address);
  session.read();
  const members = Array.from({ length: 20 }, (_, i) => ({ ...worker?.metadata, uid: `w${i}`, tags: [], extra: {} }));
  await session.pour(100, (i) => {
    const json = { id: "p", version: i + 1, isComplete: i === 0, members, removed: [] };
    return request({ pools: [{ number: 1, description: Buffer.from(JSON.stringify(json)) }] });
  });
  session.send(request({ tasks: [{ id: 200, route: 77, sequence: 200n }] }));
  await until(() => session.received.includes("unknown routine"), "everything was read");
});

test("what came too early for a task that was cancelled no longer counts", async () => {
  worker = new LocalWorker({ limits: { maxEarlyFrames: 20 }, maxConcurrency: 1 });
  await worker.start();
  using session = new RawSession(worker.address ?? "");
  session.read();
  session.send(announce(never));
  session.send(task(0, []));
  session.send(announce(stuck, 2));
  for (let id = 1; id <= 100; id++) {
    session.send(task(id, [], 2));
    session.send(request({ credits: [{ id, steps: 1 }], aborts: [{ id }] }));
    session.send(request({ cancels: [{ id }] }));
  }
  session.send(request({ tasks: [{ id: 200, route: 77, sequence: 200n }] }));
  await until(() => session.received.includes("unknown routine"), "everything was read");
});

describe("a caller that sends much of little", () => {
  const cancel = request({ cancels: [{ id: 9 }] });
  const cases: [string, (session: RawSession) => Promise<unknown>][] = [
    ["cancellations", (session) => session.pour(1, () => Buffer.alloc(5_000_000 * cancel.length, cancel))],
    ["frames that nobody knows", (session) => session.pour(1, () => Buffer.alloc(20_000_000, Buffer.from([0x78, 1])))],
    ["messages with nothing in them", (session) => session.pour(300_000, () => Buffer.alloc(0))],
    ["messages with nothing useful in them", (session) => session.pour(100_000, () => Buffer.from([0x78, 1]))],
  ];

  test.each(cases)("takes little memory: %s", async (_name, attack) => {
    const address = await workerWith();
    using session = new RawSession(address);
    session.read();
    const before = memoryOf(worker?.metadata?.pid);
    await attack(session);
    await until(() => session.isFlushed, "the worker has taken everything");
    await expectUnharmed(address);
    expect(memoryOf(worker?.metadata?.pid) - before).toBeLessThan(250);
  });

  test("names no more dependencies than there are", async () => {
    const address = await workerWith();
    using session = new RawSession(address);
    session.read();
    const data = Buffer.from("{}");
    session.send(request({ dependencies: [{ number: 1, hash: contentHash(data), data }] }));
    session.send(announce(never));
    session.send(request({ tasks: [{ id: 1, route: 1, needs: Array.from({ length: 10_000 }, () => 1) }] }));
    expect((await session.ended).message).toContain("more dependencies are needed than were sent");
    await expectUnharmed(address);
  });
});

describe("messages that do not come whole are limited for all callers together", () => {
  const limits = { maxUnfinishedTotal: 3_000_000 };
  const PART = Buffer.alloc(1_000_000);
  const CLAIMED = 50_000_000;

  test("through streams", async () => {
    const address = await workerWith(limits);
    const sessions = Array.from({ length: 4 }, () => new RawSession(address));
    for (const session of sessions) {
      session.read();
      session.send(PART, CLAIMED);
    }
    const { status, message } = await Promise.race(sessions.map(({ ended }) => ended));
    expect(status).toBe(RESOURCE_EXHAUSTED);
    expect(message).toContain("more than 3000000 bytes of incomplete payloads and messages");
    await expectUnharmed(address);
    for (const session of sessions) session[Symbol.dispose]();
    const args = Buffer.from(encode([new Uint8Array(2_500_000)]));
    const send = async (): Promise<boolean> => {
      using quick = new RawSession(address);
      quick.read();
      quick.send(announce((bytes: Uint8Array) => `got ${bytes.length} bytes`));
      quick.send(request({ tasks: [{ id: 1, route: 1, args, sequence: 1n }] }));
      const served = until(() => quick.received.includes("got 2500000 bytes"), "the task has run").then(() => true);
      return await Promise.race([served, quick.ended.then(() => false)]);
    };
    await until(send, "there is room again");
  });

  test("through lanes", async () => {
    const address = await workerWith(limits);
    const sessions = await Promise.all(Array.from({ length: 4 }, () => RawLaneSession.open(address)));
    for (const session of sessions) session.send(PART, CLAIMED);
    await Promise.race(sessions.map(({ lane }) => lane.closed));
    const expelled = sessions.find(({ lane }) => lane.socket.destroyed);
    const end = await expelled?.stream.ended;
    expect(`${end?.code}`).toBe(RESOURCE_EXHAUSTED);
    expect(end?.details).toContain("more than 3000000 bytes of incomplete payloads and messages");
    await expectUnharmed(address);
    for (const session of sessions) session[Symbol.dispose]();
  });
});

test("whoever brings a payload slowly makes room for others when there is none", async () => {
  const address = await workerWith({ maxUnfinishedTotal: 4_000_000 });
  using slow = new RawSession(address);
  slow.read();
  slow.send(request({ chunks: [{ id: 1, data: Buffer.alloc(3_000_000), total: 900_000_000n }] }));
  // When that is answered, the piece before it has been read.
  slow.send(announce(() => "has been read"));
  slow.send(request({ tasks: [{ id: 2, route: 1, args: encode([]), sequence: 2n }] }));
  await until(() => slow.received.includes("has been read"), "the first piece has been read");
  const args = Buffer.from(encode([new Uint8Array(3_000_000)]));
  const [half, total] = [args.length / 2, BigInt(args.length)];
  const send = async (): Promise<boolean> => {
    using quick = new RawSession(address);
    quick.read();
    quick.send(announce((bytes: Uint8Array) => `got ${bytes.length} bytes`));
    quick.send(request({ chunks: [{ id: 1, data: args.subarray(0, half), total }] }));
    quick.send(request({ chunks: [{ id: 1, data: args.subarray(half) }] }));
    quick.send(request({ tasks: [{ id: 1, route: 1, chunked: total, sequence: 1n }] }));
    const served = until(() => quick.received.includes("got 3000000 bytes"), "the task has run").then(() => true);
    return await Promise.race([served, quick.ended.then(() => false)]);
  };
  let isOver = false;
  void slow.ended.then(() => {
    isOver = true;
  });
  // Until the slow one counts as slow, those who come later are refused.
  while (!isOver) await send();
  // The worker may still have to hear that earlier ones are gone.
  await until(send, "there is room");
  expect(await slow.ended).toMatchObject({
    status: RESOURCE_EXHAUSTED,
    message: expect.stringContaining("its payload or message came slowest"),
  });
});

test("a connection has no more sessions than it may, and others have theirs", async () => {
  const address = await workerWith({ maxSessions: 2 });
  using first = new RawSession(address);
  first.read();
  using second = first.another();
  second.read();
  using third = first.another();
  expect(await third.refused).toMatchObject({
    status: RESOURCE_EXHAUSTED,
    message: expect.stringContaining("2 calls of /wool.v1.Worker/Dispatch open"),
  });
  await expectUnharmed(address);
  second.send(request({ tasks: [{ id: 1, route: 77, sequence: 1n }] }));
  await until(() => second.received.includes("unknown routine"), "the sessions that there are go on");
});

describe("a caller that does not read", () => {
  test("has no more tasks started, and keeps its connection while it may come back", async () => {
    const address = await workerWith({ maxUnreadBytes: 2_000_000 });
    using session = new RawSession(address);
    session.send(announce((bytes: number) => new Uint8Array(bytes)));
    const before = memoryOf(worker?.metadata?.pid);
    await session.pour(3000, (i) => task(i, [60_000]));
    expect(memoryOf(worker?.metadata?.pid) - before).toBeLessThan(100);
    await expectUnharmed(address);
    session.read();
    await until(() => session.receivedBytes > 3000 * 60_000, "everything was read that had been asked for");
  });

  test("loses its connection when it goes on not to", async () => {
    const address = await workerWith({ maxUnreadBytes: 1_000_000, stallTimeout: 200 });
    using session = new RawSession(address);
    session.send(announce((bytes: number) => new Uint8Array(bytes)));
    await session.pour(200, (i) => task(i, [60_000]));
    await session.ended;
    await expectUnharmed(address);
  });

  test("does not have a generator run away from it, whatever it was allowed", async () => {
    const address = await workerWith();
    using session = new RawSession(address);
    session.send(
      announce(function* () {
        for (;;) yield new Uint8Array(10_000);
      }),
    );
    session.send(task(0, []));
    const before = memoryOf(worker?.metadata?.pid);
    session.send(request({ credits: [{ id: 0, steps: 900_000 }] }));
    // Others are served all the while.
    for (let i = 0; i < 20; i++) await expectUnharmed(address);
    expect(memoryOf(worker?.metadata?.pid) - before).toBeLessThan(100);
  });
});

test("a worker refuses limits that make no sense", () => {
  expect(() => new LocalWorker({ limits: { maxLiveTasks: 0 } })).toThrow('"maxLiveTasks" must be');
  expect(() => new LocalWorker({ limits: { idle: 5 } as WorkerLimits })).toThrow("idle");
});
