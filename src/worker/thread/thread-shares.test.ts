import { beforeEach, describe, expect, it, vi } from "vitest";
import { contentOf, share } from "../../sharing/index.ts";
import { copyPayload, encode, functionPort, ValueEncoder } from "../../values/index.ts";
import { MalformedFrame, Payload, type PayloadStore } from "../../wire/index.ts";
import type { ShareNotice } from "../shared/index.ts";
import { type ShareSession, ThreadShares } from "./thread-shares.ts";

const BUDGET = 1_000_000;
let told: ShareNotice[];
let drops: number;
let shares: ThreadShares;
let lastSeed = 0;

beforeEach(() => {
  told = [];
  drops = 0;
  shares = new ThreadShares({ budget: BUDGET, tell: (notice) => told.push(notice), dropped: () => drops++ });
});

class FakeSession implements ShareSession {
  readonly wanted: [number, boolean][] = [];
  wantShared(number: number, withoutFile: boolean): void {
    this.wanted.push([number, withoutFile]);
  }
}

/** A value as its owner announces it, and its payload. Each one is different. */
function sharedBytes(length = 50_000): { announcement: { hash: string; data: never }; payload: Buffer } {
  const bytes = new Uint32Array(length / 4).fill(++lastSeed);
  const encoder = new ValueEncoder(functionPort());
  encoder.encode(share(bytes));
  const [{ hash, data } = { hash: "", data: null }] = encoder.dependencies;
  return { announcement: { hash, data: data as never }, payload: copyPayload(encode(bytes)) };
}

function notices(): string[] {
  return told.splice(0).flatMap(({ notice }) => (notice === "pulse" ? [] : [notice]));
}

function failure(promise: object | Promise<object>): Promise<string> {
  return Promise.resolve(promise).then(
    () => "nothing",
    (error: Error) => `${error.name}: ${error.message}`,
  );
}

const CHANGED =
  "SerializationError: the value of share() cannot be used: its content does not match its hash: it was changed " +
  "after its first use. Change a copy, and share that";

describe("a value that a task needs", () => {
  it("is asked for when this thread is told to, and here once it has come", async () => {
    const session = new FakeSession();
    const { announcement, payload } = sharedBytes();
    const announced = shares.announce(session, 3, announcement);
    expect([notices(), session.wanted]).toEqual([[], []]);
    const [first, second] = [announced.ready(), announced.ready()];
    expect([notices(), session.wanted]).toEqual([["want"], []]);
    shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
    expect(session.wanted).toEqual([[3, false]]);
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    expect(notices()).toEqual(["have"]);
    const content = await first;
    expect(await second).toBe(content);
    expect(announced.ready()).toBe(content);
    expect(contentOf(announced.hash)).toBeDefined();
  });

  it("is taken from another thread, and not asked for", async () => {
    const session = new FakeSession();
    const { announcement, payload } = sharedBytes();
    const announced = shares.announce(session, 3, announcement);
    void announced.ready();
    shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    const have = told.find(({ notice }) => notice === "have");
    if (have?.notice !== "have") throw new Error("it has not come");
    const other = new ThreadShares({ budget: BUDGET, tell: () => undefined, dropped: () => undefined });
    const theirs = other.announce(new FakeSession(), 9, announcement);
    const ready = theirs.ready();
    other.obey({ kind: "share", order: "take", hash: theirs.hash, kept: have.kept });
    expect(await ready).toMatchObject({ hash: announced.hash, bytes: payload.length });
  });

  it("is asked for without a file when the file cannot be read", async () => {
    const session = new FakeSession();
    const { announcement, payload } = sharedBytes();
    const announced = shares.announce(session, 3, announcement);
    const ready = announced.ready();
    shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
    const store = {
      open() {
        throw new Error("there is no such file");
      },
    } as unknown as PayloadStore;
    shares.answer(announced, { file: "gone", length: payload.length, store });
    expect(session.wanted).toEqual([
      [3, false],
      [3, true],
    ]);
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    expect(await ready).toMatchObject({ hash: announced.hash });
  });

  it("is refused when it is not what its hash stands for, and asked of the next that has announced it", async () => {
    const { announcement, payload } = sharedBytes();
    const changed = Buffer.from(payload);
    changed[payload.length - 100] = 1;
    const [bad, good] = [new FakeSession(), new FakeSession()];
    const [first, second] = [shares.announce(bad, 1, announcement), shares.announce(good, 2, announcement)];
    const ready = [first, second].map(async (announced) => await announced.ready());
    shares.obey({ kind: "share", order: "fetch", hash: first.hash });
    shares.answer(first, { payload: Payload.inMemory(changed) });
    expect(good.wanted).toEqual([[2, false]]);
    shares.answer(second, { payload: Payload.inMemory(payload) });
    const [one, other] = await Promise.all(ready);
    expect(one).toBe(other);

    const alone = sharedBytes();
    const only = shares.announce(bad, 7, alone.announcement);
    const failing = failure(only.ready());
    notices();
    shares.obey({ kind: "share", order: "fetch", hash: only.hash });
    shares.answer(only, { payload: Payload.inMemory(payload) });
    expect(await failing).toBe(CHANGED);
    expect(notices()).toEqual(["failed"]);
  });

  it("fails when its owner has none any more, or is gone", async () => {
    const session = new FakeSession();
    const [one, other, third] = [sharedBytes(), sharedBytes(), sharedBytes()].map(({ announcement }, number) =>
      shares.announce(session, number, announcement),
    );
    if (one === undefined || other === undefined || third === undefined) throw new Error("too few");
    const failures = [one, other, third].map((announced) => failure(announced.ready()));
    shares.obey({ kind: "share", order: "fetch", hash: one.hash });
    shares.answer(one, "missing");
    shares.dropped(other);
    shares.closed(session);
    expect(await Promise.all(failures)).toEqual([
      "SerializationError: the value of share() cannot be used: its owner has disposed of it or lost it",
      "SerializationError: the value of share() cannot be used: its owner has disposed of it or lost it",
      "SerializationError: the value of share() cannot be used: its caller is gone",
    ]);
    // A thread that is told to get one of them later reports that it cannot.
    notices();
    shares.obey({ kind: "share", order: "fetch", hash: third.hash });
    expect(notices()).toEqual(["failed"]);
  });

  it("is asked of others that have it when the first one does not answer", async () => {
    vi.useFakeTimers();
    try {
      const [silent, polite, late] = [new FakeSession(), new FakeSession(), new FakeSession()];
      const { announcement, payload } = sharedBytes();
      const ready = shares.announce(silent, 1, announcement).ready();
      const announced = shares.announce(polite, 2, announcement);
      void announced.ready();
      shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
      vi.advanceTimersByTime(4500);
      expect([silent.wanted, polite.wanted]).toEqual([[[1, false]], []]);
      vi.advanceTimersByTime(1000);
      void shares.announce(late, 3, announcement).ready();
      vi.advanceTimersByTime(10_000);
      expect([silent.wanted, polite.wanted, late.wanted]).toEqual([[[1, false]], [[2, false]], [[3, false]]]);
      shares.closed(late);
      shares.answer(announced, { payload: Payload.inMemory(payload) });
      expect(await ready).toBe(announced.ready());
      shares.closed(silent);
      vi.advanceTimersByTime(1000);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("fails at once when it is larger than all that may be kept", async () => {
    const { announcement } = sharedBytes(BUDGET + 4);
    expect(await failure(shares.announce(new FakeSession(), 1, announcement).ready())).toMatch(
      /^SerializationError: the value of share\(\) cannot be used: it takes 10000\d\d bytes, and its worker keeps at most 1000000/,
    );
    expect(notices()).toEqual([]);
  });
});

describe("a value that was dropped", () => {
  it("is kept again when it is needed while a task still has it", async () => {
    const { announcement, payload } = sharedBytes();
    const announced = shares.announce(new FakeSession(), 1, announcement);
    const ready = announced.ready();
    shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    const content = await ready;
    notices();
    shares.obey({ kind: "share", order: "drop", hash: announced.hash });
    expect(drops).toBe(1);
    expect(announced.ready()).toBe(content);
    expect(notices()).toEqual(["have"]);
  });
});

describe("nonsense of a caller", () => {
  it("is no value that was never announced, nor one of another size", () => {
    const { announcement, payload } = sharedBytes();
    expect(() => shares.answer(undefined, "missing")).toThrow(MalformedFrame);
    const announced = shares.announce(new FakeSession(), 1, announcement);
    void announced.ready();
    shares.obey({ kind: "share", order: "fetch", hash: announced.hash });
    expect(() => shares.answer(announced, { payload: Payload.inMemory(payload.subarray(1)) })).toThrow(
      /a shared value has \d+ bytes, and \d+ were announced/,
    );
  });

  it.each([null, {}, { bytes: -1, inner: [] }, { bytes: 0.5, inner: [] }, { bytes: 5 }, { bytes: 2 ** 60, inner: [] }])(
    "is no announcement such as %j",
    (data) => {
      const announcement = { hash: "h", data: data as never };
      expect(() => shares.announce(new FakeSession(), 1, announcement)).toThrow(MalformedFrame);
    },
  );

  it("is no answer to what nobody asked for: that changes nothing", () => {
    const { announcement, payload } = sharedBytes();
    const announced = shares.announce(new FakeSession(), 1, announcement);
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    expect(notices()).toEqual([]);
    const promise = announced.ready();
    expect(promise).toBeInstanceOf(Promise);
    shares.answer(announced, { payload: Payload.inMemory(payload) });
    expect(notices()).toEqual(["want"]);
  });
});
