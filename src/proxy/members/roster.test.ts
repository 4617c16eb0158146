import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { WorkerMetadata } from "../../discovery/index.ts";
import { UnexpectedResponse } from "../../errors.ts";
import { Roster, readRosterNews } from "./roster.ts";

function worker(uid: string, tag = "none"): WorkerMetadata {
  return {
    uid,
    address: `${uid}.example:1`,
    pid: 0,
    version: "0.1.0",
    tags: new Set([tag]),
    extra: {},
    secure: false,
    channel: {},
  };
}

function tell(from: Roster, to: Roster, since: number): number {
  const news = from.describe(since);
  if (news !== undefined) to.apply(readRosterNews(news));
  return from.version;
}

describe("a roster", () => {
  it("is followed by its copies, whatever changes and whenever they are told", () => {
    const change = fc.record({ uid: fc.constantFrom("a", "b", "c", "d"), tag: fc.option(fc.constantFrom("x", "y")) });
    fc.assert(
      fc.property(fc.array(fc.tuple(change, fc.boolean())), (steps) => {
        const pool = new Roster();
        const copy = new Roster(pool.id);
        let known = 0;
        for (const [{ uid, tag }, told] of steps) {
          if (tag === null) pool.dismiss(uid);
          else pool.admit(worker(uid, tag));
          if (!told) continue;
          known = tell(pool, copy, known);
          expect(copy.version).toBe(pool.version);
          expect(new Map(copy.members)).toEqual(new Map(pool.members));
        }
      }),
    );
  });

  it("tells of changes only to who knows it, and of nothing to who knows all", () => {
    const pool = new Roster();
    for (let i = 0; i < 200; i++) pool.admit(worker(`w${i}`));
    const known = pool.version;
    expect(readRosterNews(pool.describe(0) ?? Buffer.alloc(0)).members).toHaveLength(200);
    pool.admit(worker("newcomer"));
    pool.dismiss("w0");
    const news = readRosterNews(pool.describe(known) ?? Buffer.alloc(0));
    expect(news.members.map(({ uid }) => uid)).toEqual(["newcomer"]);
    expect(news.removed).toEqual(["w0"]);
    expect(pool.describe(pool.version)).toBeUndefined();
  });

  it("is not read when it is huge", () => {
    const text = `{"id":"p","version":1,"isComplete":true,"removed":[],"members":[${"[],".repeat(6_000_000)}0]}`;
    expect(() => readRosterNews(Buffer.from(text))).toThrow(
      "a list of workers has 18000067 bytes, and at most 16777216",
    );
  });

  it("names everybody to who knows too little", () => {
    const pool = new Roster();
    pool.admit(worker("first"));
    const known = pool.version;
    for (let i = 0; i < 5000; i++) pool.admit(worker(`w${i % 7}`));
    expect(readRosterNews(pool.describe(known) ?? Buffer.alloc(0))).toMatchObject({ isComplete: true });
  });

  it("counts in a copy what is kept of what it was told", () => {
    const pool = new Roster();
    const copy = new Roster(pool.id);
    const empty = copy.size;
    pool.admit(worker("a"));
    let known = tell(pool, copy, 0);
    const one = copy.size;
    expect(one).toBeGreaterThan(empty + 50);
    for (let i = 0; i < 100; i++) {
      pool.admit(worker("b"));
      pool.admit(worker("a", "x"));
      known = tell(pool, copy, known);
      pool.dismiss("b");
      pool.admit(worker("a"));
      known = tell(pool, copy, known);
    }
    expect(copy.size).toBe(one);
    pool.dismiss("a");
    tell(pool, copy, known);
    expect(copy.size).toBe(empty);
  });

  it("is not set back by news that are older", () => {
    const pool = new Roster();
    pool.admit(worker("a"));
    const old = pool.describe(0) ?? Buffer.alloc(0);
    pool.dismiss("a");
    const copy = new Roster(pool.id);
    tell(pool, copy, 0);
    copy.apply(readRosterNews(old));
    expect(copy.members.size).toBe(0);
  });

  it("passes on what it was told: a copy of a copy", () => {
    const pool = new Roster();
    pool.maxPending = 5;
    pool.admit(worker("a", "gpu"));
    const copy = new Roster(pool.id);
    tell(pool, copy, 0);
    const second = new Roster(pool.id);
    tell(copy, second, 0);
    expect(second.members.get("a")).toEqual(worker("a", "gpu"));
    expect(second.maxPending).toBe(5);
  });

  it("tells its followers of who is there, who comes, changes and goes", () => {
    const pool = new Roster();
    pool.admit(worker("a"));
    const seen: string[] = [];
    const unfollow = pool.follow((uid, found) => seen.push(`${uid} ${[...(found?.tags ?? ["gone"])].join()}`));
    pool.admit(worker("b", "x"));
    pool.admit(worker("a", "y"));
    pool.dismiss("b");
    pool.dismiss("b");
    unfollow();
    pool.admit(worker("c"));
    expect(seen).toEqual(["a none", "b x", "a y", "b gone"]);
  });

  it.each(["", "null", "{}", '{"id":1}', "[]", '{"id":"a","version":1,"isComplete":true,"members":{},"removed":[]}'])(
    "is not read from %j",
    (text) => {
      expect(() => readRosterNews(Buffer.from(text))).toThrow(UnexpectedResponse);
    },
  );
});
