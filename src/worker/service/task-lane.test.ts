import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BatchWriter } from "../../wire/batch-writer.ts";
import { writePlainTask, writeUnwanted } from "../../wire/request-frames.ts";
import { ThreadBoard } from "../shared/thread-board.ts";
import { SESSION_PREFIX_BYTES, type ToThread } from "../shared/thread-messages.ts";
import { TaskLane } from "./task-lane.ts";
import type { TaskThread, TaskThreadEvents } from "./task-thread.ts";

const NOTHING = new Uint8Array(0);

/** A thread that reads messages when the test says so. */
class FakeThread {
  readonly board = new ThreadBoard();
  readonly ready = Promise.resolve();
  readonly told: ToThread[] = [];
  readonly handed: Buffer[] = [];
  readonly events: TaskThreadEvents;
  hasEnded = false;
  keepsUp = true;
  posted = 0;

  constructor(events: TaskThreadEvents) {
    this.events = events;
  }

  tell(message: ToThread): void {
    this.told.push(message);
  }

  hand(memory: ArrayBuffer): void {
    this.posted += memory.byteLength;
    this.handed.push(Buffer.from(memory));
  }

  async end(): Promise<void> {
    this.hasEnded = true;
  }
}

/** A session whose stream records whether it is read. */
class FakeSession {
  readonly number: number;
  readonly taken = new Float64Array([1]);
  isRead = true;
  readonly stream = {
    pause: () => {
      this.isRead = false;
    },
    resume: () => {
      this.isRead = true;
    },
  };

  constructor(number: number) {
    this.number = number;
  }
}

let threads: FakeThread[];
let lost: unknown[][];
let lane: TaskLane;

beforeEach(() => {
  threads = [];
  lost = [];
  lane = new TaskLane(
    (events) => {
      const thread = new FakeThread(events);
      threads.push(thread);
      return thread as unknown as TaskThread;
    },
    {
      message: () => expect.unreachable(),
      malformed: () => expect.unreachable(),
      exhausted: () => expect.unreachable(),
      share: () => expect.unreachable(),
      hold: () => expect.unreachable(),
      finished: () => expect.unreachable(),
      room: () => expect.unreachable(),
      cut: () => expect.unreachable(),
      lost: (...told) => lost.push(told),
    },
  );
});

afterEach(async () => {
  await lane.end();
});

function thread(): FakeThread {
  const current = threads.at(-1);
  if (current === undefined) throw new Error("the lane has no thread");
  return current;
}

function task(id: number): Buffer {
  const writer = new BatchWriter(0);
  writePlainTask(writer, id, 1, NOTHING, 0, 0, id, 0);
  return writer.take();
}

describe("TaskLane", () => {
  it("hands messages over, with the number of their session in front", () => {
    const message = task(3);
    lane.hand(new FakeSession(7), Buffer.concat([Buffer.from("before"), message]), 6, 6 + message.length);
    const [handed = Buffer.alloc(0)] = thread().handed;
    expect(handed.readUInt32LE(0)).toBe(7);
    expect(handed.subarray(SESSION_PREFIX_BYTES).equals(message)).toBe(true);
  });

  it("reads nothing from callers that send more than the thread takes in, until it has caught up", () => {
    const sessions = [new FakeSession(1), new FakeSession(2), new FakeSession(3)] as const;
    const message = task(1);
    const hand = (session: FakeSession) => lane.hand(session, message, 0, message.length);
    hand(sessions[0]);
    thread().keepsUp = false;
    hand(sessions[1]);
    hand(sessions[2]);
    expect(sessions.map(({ isRead }) => isRead)).toEqual([true, false, false]);
    expect(thread().told).toEqual([{ kind: "catch-up" }]);
    thread().keepsUp = true;
    thread().events.caughtUp();
    expect(sessions.map(({ isRead }) => isRead)).toEqual([true, true, true]);
    thread().keepsUp = false;
    hand(sessions[1]);
    expect(thread().told).toEqual([{ kind: "catch-up" }, { kind: "catch-up" }]);
  });

  it("tells that a thread ended, and reads from callers again", () => {
    const session = new FakeSession(1);
    const message = task(1);
    thread().keepsUp = false;
    lane.hand(session, message, 0, message.length);
    expect(session.isRead).toBe(false);
    thread().events.lost("it crashed");
    expect(lost).toEqual([["it crashed", undefined]]);
    expect(session.isRead).toBe(true);
  });

  it("keeps words of cancellations for itself", () => {
    const writer = new BatchWriter(0);
    writeUnwanted(writer, 3, 9);
    const message = writer.take();
    lane.hand(new FakeSession(1), message, 0, message.length);
    expect(thread().handed).toEqual([]);
  });

  it("goes on with another thread", async () => {
    thread().events.lost("it crashed");
    await lane.replace();
    expect(threads).toHaveLength(2);
    const message = task(1);
    lane.hand(new FakeSession(1), message, 0, message.length);
    expect(threads.map(({ handed }) => handed.length)).toEqual([0, 1]);
    thread().board.occupy(1, 7, Number.POSITIVE_INFINITY);
    thread().events.lost("it crashed, too");
    const culprit = expect.objectContaining({ session: 1, id: 7 });
    expect(lost.at(-1)).toEqual(["it crashed, too", culprit]);
  });

  it.each([
    ["its thread has said so", () => thread().events.drained()],
    ["its thread has ended", () => thread().events.lost("it crashed")],
  ])("is drained when %s", async (_when, happen) => {
    const drained = lane.drain();
    expect(thread().told).toEqual([{ kind: "stop" }]);
    happen();
    await drained;
    thread().hasEnded = true;
    await lane.drain();
  });
});
