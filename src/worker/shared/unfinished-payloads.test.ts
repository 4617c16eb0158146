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
import { UnfinishedPayloads, unfinishedMemory } from "./unfinished-payloads.ts";

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
  const memory = unfinishedMemory(count);
  return Array.from(
    { length: count },
    (_, lane) =>
      new UnfinishedPayloads({ memory, lane, maxUnfinishedTotal: 8 * MIB, unfinishedTimeout: 60_000, ...limits }),
  );
}

/** A session, the reason why it was expelled, and whether it has sent messages that were not read. */
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
    expect(() => second.payloads.addChunk(piece(1, 2 * MIB))).toThrow(
      "8388608 bytes of incomplete payloads and messages",
    );
    second.payloads.clear();
    second.payloads.addChunk(piece(2, 3 * MIB, 3 * MIB));
  });

  it("counts the memory that small payloads have reserved, since that may have been in use before", () => {
    const [thread] = threads(1, {});
    const session = sessionOf(thread);
    // Eight times as much as has arrived is reserved.
    for (let id = 1; id <= 4; id++) session.payloads.addChunk(piece(id, 200_000, 4_000_000));
    expect(() => session.payloads.addChunk(piece(9, 1_000_000, 4_000_000))).toThrow("maxUnfinishedTotal");
  });

  it("counts what is unfinished in other threads, and forgets a thread that is replaced", () => {
    const memory = unfinishedMemory(2);
    const options = { memory, maxUnfinishedTotal: 8 * MIB, unfinishedTimeout: 60_000 };
    const lost = sessionOf(new UnfinishedPayloads({ ...options, lane: 0 }));
    const other = sessionOf(new UnfinishedPayloads({ ...options, lane: 1 }));
    lost.payloads.addChunk(piece(1, 6 * MIB, 7 * MIB));
    expect(() => other.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB))).toThrow("maxUnfinishedTotal");
    other.payloads.clear();
    new UnfinishedPayloads({ ...options, lane: 0 });
    other.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB));
  });

  it("has a slow one in another thread make room soon", () => {
    const [thread, other] = threads(2, {});
    const [slow, quick] = [sessionOf(thread), sessionOf(other)];
    slow.payloads.addChunk(piece(1, 6 * MIB, 7 * MIB));
    vi.advanceTimersByTime(3000);
    expect(slow.expelled).toBe(undefined);
    expect(() => quick.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB))).toThrow("maxUnfinishedTotal");
    quick.payloads.clear();
    vi.advanceTimersByTime(1100);
    expect(slow.expelled).toContain("came slowest");
    quick.payloads.addChunk(piece(1, 4 * MIB, 5 * MIB));
  });

  it("limits messages that have not come whole together with payloads", () => {
    const [thread, other] = threads(2, {});
    const expelled: string[] = [];
    const tell = other?.message({ isBehind: () => false, expel: (reason) => expelled.push(reason) });
    const session = sessionOf(thread);
    tell?.(5 * MIB, 5 * MIB);
    session.payloads.addChunk(piece(1, 2 * MIB, 900 * MIB));
    expect(() => session.payloads.addChunk(piece(1, 2 * MIB))).toThrow("maxUnfinishedTotal");
    expect(expelled).toEqual([]);
    tell?.(4 * MIB, 9 * MIB);
    expect(expelled).toEqual([expect.stringContaining("more than 8388608 bytes of incomplete payloads and messages")]);
    // Its connection is closed.
    tell?.(-9 * MIB, 0);
    session.payloads.addChunk(piece(1, 2 * MIB));
    expect(session.expelled).toBe(undefined);
  });

  it("expels a session whose message does not go on", () => {
    const [thread] = threads(1, { unfinishedTimeout: 4000 });
    const expelled: string[] = [];
    const tell = thread?.message({ isBehind: () => false, expel: (reason) => expelled.push(reason) });
    tell?.(100_000, 1);
    vi.advanceTimersByTime(3000);
    tell?.(0, 2);
    vi.advanceTimersByTime(3900);
    expect(expelled).toEqual([]);
    vi.advanceTimersByTime(1200);
    expect(expelled).toEqual([expect.stringContaining("limits.unfinishedTimeout")]);
  });

  it("takes any number for a limit", () => {
    for (const maxUnfinishedTotal of [1, 1.5, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER]) {
      const session = sessionOf(threads(1, { maxUnfinishedTotal })[0]);
      session.payloads.addChunk(piece(1, 1, 1));
      const add = (): void => session.payloads.addChunk(piece(2, 1, 1));
      if (maxUnfinishedTotal < 2) expect(add).toThrow(`more than ${maxUnfinishedTotal} bytes`);
      else add();
    }
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
      "no piece of an incomplete payload or message came for 4000 ms (limits.unfinishedTimeout)",
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
    vi.advanceTimersByTime(100_000_000);
    expect(session.expelled).toBe(undefined);
  });
});
