import { getEventListeners } from "node:events";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { collect } from "../../test/support/collect.ts";
import { InvalidArgument } from "../errors.ts";
import type { Cancellable } from "./item-group.ts";
import {
  checkItems,
  type MapEnding,
  type MapOptions,
  MapWindow,
  mapConcurrently,
  type Progress,
  splitMapOptions,
} from "./map.ts";
import type { OneByOne } from "./one-by-one.ts";

type ItemCall<T, R> = (
  item: T,
  resolve: (value: R) => void,
  reject: (failure: unknown) => void,
) => Cancellable | undefined;

/** A map with a call for each item, made at once. */
function mapSingly<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  call: ItemCall<T, R>,
  options: MapOptions,
  window: MapWindow,
  ending?: MapEnding,
): OneByOne<R> {
  return mapConcurrently(
    items,
    {
      add: (item, openGroup) => {
        const group = openGroup();
        const index = group.add();
        group.call = call(
          item,
          (value) => group.succeeded(index, [value]),
          (failure) => group.failed(index, failure),
        );
      },
      flush: () => undefined,
      drop: () => undefined,
    },
    options,
    window,
    ending,
  );
}

/** Calls that end when the test says so. */
class Calls {
  readonly made: number[] = [];
  readonly cancelled: number[] = [];
  readonly #settlers = new Map<number, { resolve: (value: number) => void; reject: (error: unknown) => void }>();

  readonly call = (
    item: number,
    resolve: (value: number) => void,
    reject: (error: unknown) => void,
  ): { cancel(): void } => {
    this.made.push(item);
    this.#settlers.set(item, { resolve, reject });
    return { cancel: () => void this.cancelled.push(item) };
  };

  get underWay(): number {
    return this.#settlers.size;
  }

  end(item: number, error?: unknown): void {
    const settler = this.#settlers.get(item);
    this.#settlers.delete(item);
    if (error === undefined) settler?.resolve(item * 10);
    else settler?.reject(error);
  }

  get items(): number[] {
    return [...this.#settlers.keys()];
  }
}

/** A call that a function makes at once. */
const promised =
  <T, R>(make: (item: T) => Promise<R>) =>
  (item: T, resolve: (value: R) => void, reject: (error: unknown) => void): undefined => {
    make(item).then(resolve, reject);
  };

const times10 = (item: number, resolve: (value: number) => void): undefined => {
  resolve(item * 10);
};

/** A source that counts the items taken from it, and records when it is closed. */
class Source {
  taken = 0;
  closed = false;

  *numbers(count: number): Generator<number, void, void> {
    try {
      for (let i = 0; i < count; i++) {
        this.taken++;
        yield i;
      }
    } finally {
      this.closed = true;
    }
  }
}

describe("mapConcurrently", () => {
  it("keeps the order of the items, or gives results as they come; never more under way than allowed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(12),
        fc.integer({ min: 1, max: 5 }),
        fc.boolean(),
        fc.infiniteStream(fc.nat()),
        async (count, concurrency, ordered, choices) => {
          const calls = new Calls();
          const completed: number[] = [];
          const items = Array.from({ length: count }, (_, i) => i);
          let most = 0;
          const collected = collect(mapSingly(items, calls.call, { ordered }, new MapWindow(concurrency)));
          while (completed.length < count) {
            await turn();
            most = Math.max(most, calls.underWay);
            const item = calls.items[choices.next().value % Math.max(1, calls.underWay)];
            if (item === undefined) continue;
            calls.end(item);
            completed.push(item);
          }
          expect(await collected).toEqual((ordered ? items : completed).map((item) => item * 10));
          expect(most).toBeLessThanOrEqual(concurrency);
          expect(most).toBe(Math.min(concurrency, count));
          expect(calls.made).toEqual(items);
        },
      ),
      { numRuns: 50 },
    );
  });

  it("takes what can be iterated over: also strings, sets, generators and streams", async () => {
    async function* stream() {
      yield 1;
      yield 2;
    }
    expect(await collect(mapSingly(new Set([1, 2]), times10, {}, new MapWindow(2)))).toEqual([10, 20]);
    expect(await collect(mapSingly(stream(), times10, {}, new MapWindow(2)))).toEqual([10, 20]);
    expect(
      await collect(
        mapSingly(
          "ab",
          promised(async (letter: string) => letter.toUpperCase()),
          {},
          new MapWindow(2),
        ),
      ),
    ).toEqual(["A", "B"]);
    expect(await collect(mapSingly([], times10, {}, new MapWindow(2)))).toEqual([]);
  });

  it.each([5, null, undefined, {}, () => 1])("refuses %s", (items) => {
    expect(() => checkItems(items)).toThrow(InvalidArgument);
  });

  it("reads no more of the source than there is room for, and nothing before it is asked", async () => {
    const [source, calls] = [new Source(), new Calls()];
    const results = mapSingly(source.numbers(100), calls.call, {}, new MapWindow(3));
    expect(source.taken).toBe(0);
    const first = results.next();
    await turn();
    expect(source.taken).toBe(3);
    calls.end(0);
    expect(await first).toEqual({ done: false, value: 0 });
    await turn();
    expect(source.taken).toBe(3);
    void results.next();
    await turn();
    expect(source.taken).toBe(4);
    for (const item of calls.items) calls.end(item);
    await results.return();
  });

  it("gives a result although the source has nothing more yet", async () => {
    let more: () => void = () => undefined;
    const waiting = new Promise<void>((resolve) => {
      more = resolve;
    });
    async function* slow() {
      yield 1;
      await waiting;
      yield 2;
    }
    const results = mapSingly(slow(), times10, {}, new MapWindow(4));
    let first: number | undefined;
    const step = results.next().then(({ value }) => {
      first = value ?? undefined;
    });
    for (let i = 0; i < 5; i++) await turn();
    const early = first;
    more();
    await step;
    expect(await collect(results)).toEqual([20]);
    expect(early).toBe(10);
  });

  it("cancels what is under way and closes the source when it is left", async () => {
    const [source, calls] = [new Source(), new Calls()];
    const results = mapSingly(source.numbers(100), calls.call, {}, new MapWindow(3));
    const first = results.next();
    await turn();
    calls.end(0);
    await first;
    expect(calls.cancelled).toEqual([]);
    await results.return();
    expect(calls.cancelled).toEqual([1, 2]);
    expect(source.closed).toBe(true);
  });

  it("the first failure ends it and cancels the rest", async () => {
    const [source, calls] = [new Source(), new Calls()];
    const collected = collect(mapSingly(source.numbers(100), calls.call, { ordered: false }, new MapWindow(3)));
    const failed = collected.catch((error: unknown) => error);
    await turn();
    calls.end(2, new RangeError("two"));
    expect(await failed).toEqual(new RangeError("two"));
    expect(calls.cancelled).toEqual([0, 1]);
    expect([source.closed, source.taken]).toEqual([true, 3]);
  });

  it("in order, a failure ends it after the results before it", async () => {
    const calls = new Calls();
    const results = mapSingly([0, 1, 2], calls.call, {}, new MapWindow(3));
    const first = results.next();
    await turn();
    calls.end(1, new RangeError("one"));
    calls.end(0);
    expect(await first).toEqual({ done: false, value: 0 });
    await expect(results.next()).rejects.toThrow(RangeError);
  });

  it("with stopOnError false leaves failures out and tells all of them at the end", async () => {
    const items = [0, 1, 2, 3, 4];
    const fail = promised(async (item: number) => {
      if (item % 2 === 1) throw new RangeError(String(item));
      return item;
    });
    for (const ordered of [true, false]) {
      const seen: number[] = [];
      const error = await (async () => {
        for await (const value of mapSingly(items, fail, { stopOnError: false, ordered }, new MapWindow(2)))
          seen.push(value);
      })().catch((thrown: unknown) => thrown);
      expect(seen).toEqual([0, 2, 4]);
      expect(error).toBeInstanceOf(AggregateError);
      expect((error as AggregateError).errors).toEqual([new RangeError("1"), new RangeError("3")]);
      expect((error as AggregateError).message).toBe("2 of 5 items failed");
    }
  });

  it("fails when the source does, and asks nothing of a source that has failed", async () => {
    let closes = 0;
    let left = 2;
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: async () => {
          if (left-- === 0) throw new RangeError("source");
          return { done: false as const, value: left };
        },
        return: async () => {
          closes++;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const calls = new Calls();
    await expect(collect(mapSingly(source, calls.call, {}, new MapWindow(5)))).rejects.toThrow(
      new RangeError("source"),
    );
    expect(calls.cancelled).toEqual([1, 0]);
    expect(closes).toBe(0);
  });

  it("tells how far it has come after each item", async () => {
    const progress: Progress[] = [];
    const options: MapOptions = { stopOnError: false, onProgress: (step) => progress.push(step) };
    const fail = promised(async (item: number) => {
      if (item === 1) throw new RangeError("one");
      return item;
    });
    await collect(mapSingly([0, 1, 2], fail, options, new MapWindow(2))).catch(() => undefined);
    expect(progress).toEqual([
      { done: 1, failed: 0, inFlight: 1, total: 3 },
      { done: 1, failed: 1, inFlight: 1, total: 3 },
      { done: 2, failed: 1, inFlight: 0, total: 3 },
    ]);
    progress.length = 0;
    await collect(mapSingly(new Source().numbers(1), times10, options, new MapWindow(2)));
    expect(progress).toEqual([{ done: 1, failed: 0, inFlight: 0, total: undefined }]);
  });
});

describe("Window", () => {
  it("stays as it was given", () => {
    const window = new MapWindow(3);
    for (let i = 0; i < 1000; i++) window.count(1);
    expect([window.size, window.isGrown]).toEqual([3, false]);
  });

  it("grows up to its limit for calls that take no time, and shrinks again for others", () => {
    let now = 0;
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now);
    try {
      const window = new MapWindow(16, 4096);
      const end = (count: number, ms: number): void => {
        for (let i = 0; i < count; i++) {
          now += ms;
          window.count(1);
        }
      };
      end(16, 0.01);
      expect([window.size, window.isGrown]).toEqual([1000, true]);
      end(1000, 0.001);
      expect(window.size).toBe(4096);
      end(4096, 1);
      expect([window.size, window.isGrown]).toEqual([16, false]);
    } finally {
      clock.mockRestore();
    }
  });

  it("begins items in runs once it has grown, and fills up before it waits", async () => {
    const window = new MapWindow(2, 100);
    const calls = new Calls();
    window.size = 8;
    const results = mapSingly(new Source().numbers(100), calls.call, {}, window);
    const first = results.next();
    await turn();
    expect(calls.made).toHaveLength(8);
    for (const item of [0, 1, 2]) calls.end(item);
    await first;
    await results.next();
    expect(calls.made).toHaveLength(8);
    await results.next();
    expect(calls.made).toHaveLength(10);
    const fourth = results.next();
    await turn();
    expect(calls.made).toHaveLength(11);
    calls.end(3);
    await fourth;
    await results.return();
  });
});

describe("a source that is quiet", () => {
  let closed = false;

  async function* quiet(...items: number[]): AsyncGenerator<number, void, void> {
    try {
      yield* items;
      await new Promise(() => undefined);
    } finally {
      closed = true;
    }
  }

  it("does not keep a failure from being told", async () => {
    const fail = promised(async () => {
      throw new RangeError("none");
    });
    await expect(collect(mapSingly(quiet(1), fail, {}, new MapWindow(4)))).rejects.toThrow(RangeError);
  });

  it("does not keep anyone from leaving", async () => {
    const calls = new Calls();
    const results = mapSingly(quiet(1, 2), calls.call, {}, new MapWindow(4));
    const first = results.next();
    await turn();
    calls.end(1);
    expect(await first).toEqual({ done: false, value: 10 });
    await results.return();
    expect(calls.cancelled).toEqual([2]);
    expect(closed).toBe(false);
  });

  it("does not keep a signal from ending it, at once and without a trace", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const collected = collect(mapSingly(quiet(), times10, {}, new MapWindow(4), { signal }));
    await turn();
    controller.abort(new RangeError("enough"));
    await expect(collected).rejects.toThrow("enough");
    expect(getEventListeners(signal, "abort")).toEqual([]);
    await expect(collect(mapSingly([], times10, {}, new MapWindow(4), { signal }))).rejects.toThrow("enough");
  });

  it("does not keep the end of its pool from ending it, after what is under way", async () => {
    const calls = new Calls();
    const watchers = new Set<() => void>();
    let reason: Error | undefined;
    const watchClosed = (changed: () => void) => {
      watchers.add(changed);
      return () => watchers.delete(changed);
    };
    const results: number[] = [];
    const collecting = (async () => {
      for await (const result of mapSingly(quiet(1), calls.call, {}, new MapWindow(4), {
        closed: () => reason,
        watchClosed,
      })) {
        results.push(result);
      }
    })();
    await turn();
    reason = new RangeError("closed");
    for (const changed of watchers) changed();
    await turn();
    calls.end(1);
    await expect(collecting).rejects.toThrow("closed");
    expect(results).toEqual([10]);
    expect(watchers.size).toBe(0);
  });
});

describe("splitMapOptions", () => {
  it("refuses another pool", () => {
    const pool = {} as NonNullable<MapOptions["pool"]>;
    expect(() => splitMapOptions({ pool })).toThrow(InvalidArgument);
  });

  it("parts the options of map from those of its calls", () => {
    const own = { concurrency: 3, ordered: false, stopOnError: false, onProgress: () => undefined };
    const call = { timeout: 5, key: "k" };
    expect(splitMapOptions({ ...own, ...call })).toEqual({ own: { ...own, ...call }, call });
  });

  it.each([
    { concurrency: 0 },
    { concurrency: 1.5 },
    { concurrency: Number.POSITIVE_INFINITY },
    { ordered: 1 },
    { stopOnError: "no" },
    { onProgress: {} },
    { timeout: -1 },
    { concurency: 3 },
  ])("refuses %j", (options) => {
    expect(() => splitMapOptions(options as MapOptions)).toThrow(InvalidArgument);
    expect(() => splitMapOptions(options as MapOptions)).toThrow("pool.map()");
  });
});
