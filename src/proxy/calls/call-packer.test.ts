import { describe, expect, it } from "vitest";
import { type Call, type CallPack, errorOf } from "../../call/index.ts";
import { PoolClosed } from "../../errors.ts";
import type { Route } from "../../routine/route.ts";
import { TaskCost } from "../../routine/task-cost.ts";
import { decode, ValueEncoder } from "../../values/index.ts";
import type { Payload } from "../../wire/index.ts";
import { CallPacker, type PackGroup } from "./call-packer.ts";

function routeOf(microseconds: number): Route {
  const cost = new TaskCost();
  cost.add(1000, microseconds);
  return { name: "add", dependencies: [], cost } as unknown as Route;
}

/** A packer that keeps its calls, each item as it was when it was encoded. */
function make(options: { most?: number; microseconds?: number; refuses?: boolean; canPack?: boolean } = {}) {
  const { most = 100, microseconds = 50, refuses = false, canPack = true } = options;
  const state = { route: routeOf(microseconds) };
  const made: unknown[][] = [];
  const singles: unknown[] = [];
  const groups: unknown[][] = [];
  const packer = new CallPacker({
    canPack: () => canPack,
    route: () => state.route,
    most: () => most,
    encoder: new ValueEncoder(),
    make: (_route: Route, args: Payload, pack: CallPack | undefined) => {
      if (refuses) throw new PoolClosed("closed");
      let end = args.start;
      const lengths = pack?.lengths ?? [args.length];
      made.push(
        lengths.map((length) => {
          const start = end;
          end += length;
          return (decode(args.buffer.subarray(start, end)) as unknown[])[0];
        }),
      );
      return {} as Call;
    },
    single: (item) => {
      singles.push(item);
      return undefined;
    },
  });
  const openGroup = (): PackGroup => {
    const outcomes: unknown[] = [];
    groups.push(outcomes);
    return {
      add: () => outcomes.push("open") - 1,
      succeeded: (first, values) => void outcomes.splice(first, values.length, ...values),
      failed: (index, failure) => (outcomes[index] = errorOf(failure)),
      call: undefined,
    };
  };
  return { packer, made, singles, groups, state, add: (item: unknown) => packer.add(item, openGroup) };
}

describe("CallPacker", () => {
  it("puts as many calls into a pack as take 200 us together", () => {
    const { add, made, packer, groups } = make({ microseconds: 50 });
    for (let i = 0; i < 9; i++) add(i);
    expect(made).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
    ]);
    packer.flush();
    packer.flush();
    expect(made.slice(2)).toEqual([[8]]);
    expect(groups.map(({ length }) => length)).toEqual([4, 4, 1]);
  });

  it("has no packs of calls that take long, or of which nothing is known, or where they are not wanted", () => {
    for (const options of [{ microseconds: 300 }, { most: 0.5 }, { canPack: false }]) {
      const { add, made, singles } = make(options);
      for (let i = 0; i < 3; i++) add(i);
      expect([made, singles]).toEqual([[], [0, 1, 2]]);
    }
    const unknown = make();
    unknown.state.route = { ...unknown.state.route, cost: new TaskCost() };
    unknown.add(1);
    expect(unknown.singles).toEqual([1]);
  });

  it("takes each item as it is when it comes, and lets none share anything with another", () => {
    const { add, made, packer } = make();
    const item = { step: 0, list: [0] };
    for (let i = 1; i <= 2; i++) {
      item.step = i;
      item.list.push(i);
      add(item);
    }
    packer.flush();
    expect(made).toEqual([
      [
        { step: 1, list: [0, 1] },
        { step: 2, list: [0, 1, 2] },
      ],
    ]);
  });

  it("begins another pack when the routine has become another one", () => {
    const { add, made, state, packer } = make();
    add(1);
    state.route = routeOf(50);
    add(2);
    packer.flush();
    expect(made).toEqual([[1], [2]]);
  });

  it("leaves to calls of their own what is large, brings code along, or cannot travel, in order", () => {
    const { add, made, singles, groups, packer } = make();
    const own = [() => 1, "x".repeat(100_000), new AbortController().signal, new WeakRef({})];
    add(0);
    for (const item of own) add(item);
    add(5);
    packer.flush();
    expect(made).toEqual([[0], [5]]);
    expect(singles).toEqual(own);
    expect(groups).toHaveLength(6);
  });

  it("fails every call of a pack that nobody takes", () => {
    const { add, groups, packer } = make({ refuses: true });
    add(1);
    add(2);
    packer.flush();
    expect(groups).toEqual([[expect.any(PoolClosed), expect.any(PoolClosed)]]);
  });

  it("forgets a pack that was not sent", () => {
    const { add, made, packer } = make();
    add(1);
    packer.drop();
    packer.flush();
    expect(made).toEqual([]);
  });
});
