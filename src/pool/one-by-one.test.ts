import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { OneByOne } from "./one-by-one.ts";

/** Lists that come when they are let through, and what became of the generator of them. */
function setUp(...lists: number[][]) {
  const state = { closed: false, isOver: false, let: (): void => undefined };
  const generator = (async function* () {
    try {
      for (const list of lists) {
        await new Promise<void>((resolve) => {
          state.let = resolve;
        });
        yield list;
      }
      throw new RangeError("no more");
    } finally {
      state.closed = true;
    }
  })();
  return { state, items: new OneByOne(generator, () => state.isOver) };
}

async function letThrough(state: { let: () => void }): Promise<void> {
  await turn();
  state.let();
}

describe("OneByOne", () => {
  it("answers requests in their order, also those that were made before there was anything", async () => {
    const { state, items } = setUp([1, 2], [3]);
    const requests = [items.next(), items.next(), items.next()];
    await letThrough(state);
    await letThrough(state);
    expect(await Promise.all(requests)).toEqual([1, 2, 3].map((value) => ({ done: false, value })));
    await expect(items.next()).rejects.toThrow(RangeError);
    expect(await items.next()).toEqual({ done: true, value: undefined });
    expect(state.closed).toBe(true);
  });

  it("goes on after a request that failed, for those that waited behind it", async () => {
    const { items } = setUp();
    const [failed, next] = [items.next(), items.next()];
    await expect(failed).rejects.toThrow(RangeError);
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it("closes the generator when it is left, and hands out nothing after that", async () => {
    const { state, items } = setUp([1, 2, 3], [4]);
    const first = items.next();
    await letThrough(state);
    expect(await first).toEqual({ done: false, value: 1 });
    expect(await items.return()).toEqual({ done: true, value: undefined });
    expect(state.closed).toBe(true);
    expect(await items.next()).toEqual({ done: true, value: undefined });
  });

  it("drops the rest of a list when it is over", async () => {
    const { state, items } = setUp([1, 2, 3]);
    const first = items.next();
    await letThrough(state);
    await first;
    state.isOver = true;
    await expect(items.next()).rejects.toThrow(RangeError);
  });
});
