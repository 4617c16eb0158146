import { describe, expect, it, vi } from "vitest";
import { WorkerLost } from "../errors.ts";
import type { Route } from "../routine/route.ts";
import { TaskCost } from "../routine/task-cost.ts";
import { Payload } from "../wire/payload.ts";
import { Call } from "./call.ts";
import { CallGroup } from "./call-group.ts";
import type { CallOwner } from "./call-parties.ts";
import { packCalls } from "./pack-calls.ts";

const SLAB = Buffer.alloc(64 * 1024);

/** A routine whose tasks take so many microseconds. */
function routeOf(microseconds: number, facts: Partial<Route> = {}): Route {
  const cost = new TaskCost();
  for (let i = 0; i < 10; i++) cost.add(10, microseconds);
  return { name: "add", method: false, streams: false, cost, ...facts } as Route;
}

/** Calls that wait, with arguments side by side, and the promise of each. */
function waitingCalls(count: number, route: Route, bytes = 3) {
  const group = new CallGroup();
  const owner = {
    withdraw: vi.fn(),
    rejected: vi.fn(),
    returned: vi.fn(),
    remade: vi.fn(),
    lost: vi.fn(),
  } satisfies CallOwner;
  const promises: Promise<unknown>[] = [];
  const calls = Array.from({ length: count }, (_, i) => {
    let made: Call | undefined;
    promises.push(
      new Promise((resolve) => {
        made = new Call(route, group, resolve, undefined);
      }),
    );
    const call = made as unknown as Call;
    call.args = Payload.inMemory(SLAB, i * bytes, (i + 1) * bytes);
    call.waitAt(owner);
    return call;
  });
  return { calls, promises, group, owner };
}

const sizes = (calls: readonly Call[]): number[] => calls.map(({ size }) => size);

describe("packCalls", () => {
  it("joins short calls that follow each other, and keeps their numbers and arguments", () => {
    const { calls, group, owner } = waitingCalls(70, routeOf(1));
    const first = calls[0]?.sequence;
    const packed = packCalls(calls);
    expect(sizes(packed)).toEqual([32, 32, 6]);
    expect(packed.map(({ sequence }) => sequence - (first ?? 0))).toEqual([0, 32, 64]);
    expect(packed.map(({ args }) => [args.start, args.end])).toEqual([
      [0, 96],
      [96, 192],
      [192, 210],
    ]);
    expect(packed.map(({ load }) => load)).toEqual([32, 32, 6]);
    expect(packed.every((call) => call.state === "waiting" && call.owner === owner)).toBe(true);
    expect([new Set(calls.map(({ state }) => state)), group.size]).toEqual([new Set(["ended"]), 3]);
  });

  it("puts no more work into a pack than is worth waking a thread", () => {
    expect(sizes(packCalls(waitingCalls(12, routeOf(40)).calls))).toEqual([5, 5, 1, 1]);
    expect(sizes(packCalls(waitingCalls(12, routeOf(2000)).calls))).toEqual(new Array(12).fill(1));
    expect(sizes(packCalls(waitingCalls(3, routeOf(1)).calls))).toEqual([1, 1, 1]);
    expect(sizes(packCalls(waitingCalls(40, routeOf(1), 1000).calls))).toEqual([16, 16, 8]);
  });

  it("does not join calls of routines that have not been measured, of methods, or in other encodings", () => {
    const { cost: _cost, ...unmeasured } = routeOf(1);
    for (const route of [unmeasured, routeOf(1, { method: true }), routeOf(1, { encoding: "json" })]) {
      const { calls } = waitingCalls(8, route);
      expect(packCalls(calls)).toEqual(calls);
    }
  });

  it.each<[string, (call: Call) => void]>([
    ["has options", (call) => Object.assign(call, { extras: { timeout: 5 } })],
    ["has signals", (call) => Object.assign(call, { signals: [] })],
    ["is watched", (call) => call.watch({})],
    ["was refused before", (call) => Object.assign(call, { refusals: new Map() })],
    ["came back before", (call) => Object.assign(call, { returns: 1 })],
    ["has other arguments in between", (call) => Object.assign(call, { args: Payload.inMemory(SLAB, 1000, 1003) })],
    ["is of another pool", (call) => Object.assign(call, { pool: {} })],
    ["can be remade in another way", (call) => Object.assign(call, { remake: () => false })],
    ["is of another routine", (call) => Object.assign(call, { route: routeOf(1) })],
  ])("leaves a call alone that %s", (_name, change) => {
    const { calls } = waitingCalls(17, routeOf(1));
    change(calls[8] as Call);
    const packed = packCalls(calls);
    expect(sizes(packed)).toEqual([8, 1, 8]);
    expect(packed[1]).toBe(calls[8]);
  });

  it("tells each caller its own outcome", async () => {
    const { calls, promises, group } = waitingCalls(4, routeOf(1));
    const [pack] = packCalls(calls);
    const failed = expect(promises[1]).rejects.toThrow(new RangeError("odd"));
    pack?.returnItems(2, ["c"]);
    pack?.failItem(1, new RangeError("odd"));
    pack?.returnItems(0, ["a"]);
    expect([pack?.load, group.size]).toEqual([1, 1]);
    pack?.returnItems(3, ["d"]);
    expect([pack?.state, group.size]).toEqual(["ended", 0]);
    expect(await Promise.all([promises[0], promises[2], promises[3]])).toEqual(["a", "c", "d"]);
    await failed;
  });

  it("fails the callers that are left with what happened to the pack", async () => {
    const { calls, promises } = waitingCalls(4, routeOf(1));
    const [pack] = packCalls(calls);
    pack?.returnItems(2, ["c"]);
    pack?.fail(new WorkerLost("gone"));
    const outcomes = await Promise.allSettled(promises);
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected", "fulfilled", "rejected"]);
  });

  it("takes a joined pack apart for a worker that takes none", async () => {
    const { calls, promises, group } = waitingCalls(4, routeOf(1));
    const [pack] = packCalls(calls);
    if (pack?.pack === undefined) throw new Error("not a pack");
    const parts = pack.unpack(pack.pack);
    expect([sizes(parts), group.size]).toEqual([[1, 1, 1, 1], 4]);
    for (const [index, part] of parts.entries()) part.succeed(index);
    expect(await Promise.all(promises)).toEqual([0, 1, 2, 3]);
  });
});
