import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { writeFrame } from "../../wire/frame-writer.ts";
import {
  BatchWriter,
  DEFAULT_LIMITS,
  FrameReader,
  IncomingPayloads,
  LAST_REQUEST_FIELD,
  RequestField,
} from "../../wire/index.ts";
import { UnfinishedPayloads } from "./unfinished-payloads.ts";

const MIB = 1024 * 1024;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function piece(id: number, bytes: number, total?: number): FrameReader {
  const writer = new BatchWriter(0);
  writeFrame(writer, RequestField.chunk, [undefined, id, Buffer.alloc(bytes), total]);
  const message = writer.take();
  const reader = new FrameReader(LAST_REQUEST_FIELD).open(message, 0, message.length);
  reader.next();
  return reader;
}

function threads(count: number, limits: { maxUnfinishedTotal?: number; unfinishedTimeout?: number }) {
  const memory = new SharedArrayBuffer(4 * count);
  return Array.from(
    { length: count },
    (_, lane) =>
      new UnfinishedPayloads({ memory, lane, maxUnfinishedTotal: 8 * MIB, unfinishedTimeout: 60_000, ...limits }),
  );
}

/** A session, what it was told when it was expelled, and whether it has sent what was not read. */
function sessionOf(unfinished: UnfinishedPayloads | undefined) {
  const session = { expelled: undefined as string | undefined, isBehind: false };
  const watch = unfinished?.of({
    isBehind: () => session.isBehind,
    expel: (reason) => {
      session.expelled = reason;
      payloads.clear();
    },
  });
  const payloads = new IncomingPayloads(DEFAULT_LIMITS, watch);
  return Object.assign(session, { payloads });
}

describe("UnfinishedPayloads", () => {
  it("limits all sessions together, by what has arrived and not by what was announced", () => {
    const [thread] = threads(1, {});
    const [first, second] = [sessionOf(thread), sessionOf(thread)];
    first.payloads.addChunk(piece(1, 5 * MIB, 900 * MIB));
    second.payloads.addChunk(piece(1, 2 * MIB, 900 * MIB));
    expect(() => second.payloads.addChunk(piece(1, 2 * MIB))).toThrow("8388608 bytes of payloads");
    second.payloads.clear();
    second.payloads.addChunk(piece(2, 3 * MIB, 3 * MIB));
  });

  it("counts what is unfinished in other threads, and forgets a thread that is replaced", () => {
    const memory = new SharedArrayBuffer(8);
    const options = { memory, maxUnfinishedTotal: 8 * MIB, unfinishedTimeout: 60_000 };
    const lost = sessionOf(new UnfinishedPayloads({ ...options, lane: 0 }));
    const other = sessionOf(new UnfinishedPayloads({ ...options, lane: 1 }));
    lost.payloads.addChunk(piece(1, 6 * MIB, 7 * MIB));
    expect(() => other.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB))).toThrow("maxUnfinishedTotal");
    other.payloads.clear();
    new UnfinishedPayloads({ ...options, lane: 0 });
    other.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB));
  });

  it("has the slowest one make room, also one that sends a little all the time", () => {
    const [thread] = threads(1, {});
    const [slow, quick, third] = [sessionOf(thread), sessionOf(thread), sessionOf(thread)];
    slow.payloads.addChunk(piece(1, 4 * MIB, 900 * MIB));
    for (let i = 0; i < 30; i++) {
      vi.advanceTimersByTime(100);
      slow.payloads.addChunk(piece(1, 10));
    }
    quick.payloads.addChunk(piece(1, 3 * MIB, 900 * MIB));
    third.payloads.addChunk(piece(1, 2 * MIB, 2 * MIB));
    expect(slow.expelled).toContain("came slowest while more than 8388608 bytes");
    expect([quick.expelled, third.expelled]).toEqual([undefined, undefined]);
  });

  it("expels a session that sends no piece for its time", () => {
    const [thread] = threads(1, { unfinishedTimeout: 4000 });
    const [idle, busy] = [sessionOf(thread), sessionOf(thread)];
    idle.payloads.addChunk(piece(1, 10, 1000));
    busy.payloads.addChunk(piece(1, 10, 1000));
    for (let i = 0; i < 10; i++) {
      vi.advanceTimersByTime(900);
      busy.payloads.addChunk(piece(1, 1));
    }
    expect(idle.expelled).toBe(
      "no piece of a payload came for 4000 ms while others were missing (limits.unfinishedTimeout)",
    );
    expect(busy.expelled).toBe(undefined);
    busy.payloads.dropChunks(1);
    vi.advanceTimersByTime(100_000);
    expect([busy.expelled, vi.getTimerCount()]).toEqual([undefined, 0]);
  });

  it("does not blame a session whose messages were not read", () => {
    const [thread] = threads(1, { unfinishedTimeout: 4000 });
    const session = sessionOf(thread);
    session.payloads.addChunk(piece(1, 10, 1000));
    session.isBehind = true;
    vi.advanceTimersByTime(100_000);
    expect(session.expelled).toBe(undefined);
    session.isBehind = false;
    vi.advanceTimersByTime(5000);
    expect(session.expelled).toContain("unfinishedTimeout");
  });

  it("waits for any time if it is told so", () => {
    const [thread] = threads(1, { unfinishedTimeout: Number.MAX_SAFE_INTEGER });
    const session = sessionOf(thread);
    session.payloads.addChunk(piece(1, 10, 1000));
    vi.advanceTimersByTime(10_000_000_000);
    expect(session.expelled).toBe(undefined);
  });
});
