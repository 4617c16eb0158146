import { errorOf, fromCaller, placed } from "../call/index.ts";
import { checkOptions, describeValue, must } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { CALL_CHECKS, type CallOptions } from "../routine/index.ts";
import { ItemGroup } from "./item-group.ts";
import { OneByOne } from "./one-by-one.ts";

/** How far a `map` has come. */
export interface Progress {
  /** Items whose result has arrived. */
  readonly done: number;
  /** Items whose call failed. */
  readonly failed: number;
  /** Items whose call has been made and whose result has not been yielded. */
  readonly inFlight: number;
  /** Number of items, if it is known beforehand. */
  readonly total: number | undefined;
}

/** How items are mapped. */
export interface MapOptions extends CallOptions {
  /**
   * Most calls that run at once. Default: 8 for each worker and at least 16, and more for very short calls: as many as
   * end in 10 ms, at most 8,192.
   */
  readonly concurrency?: number;
  /** Whether results come in the order of the items. Default: true. */
  readonly ordered?: boolean;
  /** Called after each item. */
  readonly onProgress?: (progress: Progress) => void;
  /**
   * Whether the first failure ends the iteration and cancels the rest. Default: true. Otherwise failed items are left
   * out, and an `AggregateError` of all failures is thrown at the end.
   */
  readonly stopOnError?: boolean;
}

const CHECKS = {
  ...CALL_CHECKS,
  concurrency: must.wholeNumber(1),
  ordered: must.flag,
  onProgress: must.callable(),
  stopOnError: must.flag,
};

/** Separates the options of `map` from those of its calls. Throws `InvalidArgument` for wrong ones. */
export function splitMapOptions(options: MapOptions): { own: MapOptions; call: CallOptions } {
  checkOptions(options, CHECKS, "pool.map()");
  if (options.pool !== undefined) {
    throw new InvalidArgument('pool.map(): option "pool" has no meaning here: call map() of that pool');
  }
  const { concurrency: _c, ordered: _o, onProgress: _p, stopOnError: _s, ...call } = options;
  return { own: options, call };
}

/** Where items come from: `asked` while the next one is awaited. */
interface Source {
  state: "ready" | "asked" | "exhausted" | "failed";
  error: unknown;
}

/** What ends an iteration from outside. */
export interface MapEnding {
  /** Aborting it ends the iteration at once. */
  readonly signal?: AbortSignal | undefined;
  /** Why no more calls can be made; undefined while they can. */
  readonly closed?: () => Error | undefined;
  /** Calls `listener` when that changes. Returns a function that undoes it. */
  readonly watchClosed?: (changed: () => void) => () => void;
}

/** Makes the calls of a map: each for one item, or for several that follow each other. */
export interface ItemCalls<T> {
  /**
   * Makes the call for an item, at once or together with others. In the second case, the item goes into the group that
   * was opened for an earlier item.
   */
  add(item: T, openGroup: () => ItemGroup): void;
  /** Makes the calls that were put off. */
  flush(): void;
  /** Drops the calls that were put off. */
  drop(): void;
}

/**
 * How many calls may be under way. A given number stays. Otherwise it is as many as end in 10 ms, and not less than
 * `least`. Very short calls then come in runs of thousands. (200,000 trivial items with 16 at a time: 4 times slower.)
 */
export class MapWindow {
  size: number;
  readonly #least: number;
  readonly #most: number;
  #counted = 0;
  #since = performance.now();

  constructor(least: number, most = least) {
    this.size = least;
    this.#least = least;
    this.#most = most;
  }

  /** Whether more calls may be under way than `least`, so that several items at a time can be waited for. */
  get isGrown(): boolean {
    return this.size > this.#least;
  }

  /** The calls of so many items have ended. */
  count(ended: number): void {
    this.#counted += ended;
    if (this.#counted < this.size || this.#most === this.#least) return;
    const now = performance.now();
    const perWindow = (this.#counted / Math.max(now - this.#since, 0.001)) * WINDOW_MS;
    this.size = Math.round(Math.min(Math.max(perWindow, this.#least), this.#most));
    this.#counted = 0;
    this.#since = now;
  }
}

const WINDOW_MS = 10;

/**
 * Has `calls` made for the items with a bound on how many are under way, and yields the results. Nothing is read from
 * `items` before there is room for it, and an item that is not available yet delays no other. Leaving the iteration
 * cancels the calls under way, and so does `ending`. The source is closed then. But nobody waits for a source that is
 * itself waiting for an item: the item may never come.
 */
export function mapConcurrently<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  calls: ItemCalls<T>,
  options: MapOptions,
  window: MapWindow,
  ending: MapEnding = {},
): OneByOne<R> {
  const { signal } = ending;
  const isOver = signal === undefined ? () => false : () => signal.aborted;
  return new OneByOne(mapInLists<T, R>(items, calls, options, window, ending), isOver);
}

/** Yields results in lists. Where the window has grown, a list has as many as are ready, up to `LONGEST_LIST`. */
async function* mapInLists<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  calls: ItemCalls<T>,
  options: MapOptions,
  window: MapWindow,
  ending: MapEnding,
): AsyncGenerator<readonly R[], void, void> {
  const { ordered = true, stopOnError = true, onProgress } = options;
  const total = Array.isArray(items) ? items.length : undefined;
  const iterator = iterate(items);
  /** What is yielded next. In order: the groups as they were opened. Otherwise: a group for each item that has ended. */
  const queue = new Fifo<ItemGroup>();
  const underWay = new Set<ItemGroup>();
  const failures: unknown[] = [];
  const source: Source = { state: "ready", error: undefined };
  let started = 0;
  let handedOn = 0;
  let done = 0;
  let wake: (() => void) | undefined;
  let isFilling = false;
  let willFlush = false;

  const notice = (): void => {
    const waiting = wake;
    wake = undefined;
    waiting?.();
  };
  const settled = (group: ItemGroup, count: number): void => {
    if (group.isSettled) underWay.delete(group);
    window.count(count);
    for (let i = 0; !ordered && i < count; i++) queue.push(group);
    notice();
  };
  const openGroup = (): ItemGroup => {
    const group = new ItemGroup(ordered, settled);
    underWay.add(group);
    if (ordered) queue.push(group);
    return group;
  };
  /** The next items of a source that has more items ready may still travel with this one. */
  const flushSoon = (): void => {
    if (willFlush) return;
    willFlush = true;
    setImmediate(() => {
      willFlush = false;
      calls.flush();
    });
  };
  const take = (step: IteratorResult<T>): void => {
    source.state = step.done === true ? "exhausted" : "ready";
    if (step.done !== true) {
      started++;
      calls.add(step.value, openGroup);
      if (!isFilling) flushSoon();
    }
    notice();
  };
  const fail = (error: unknown): void => {
    source.state = "failed";
    source.error = error;
    notice();
  };
  const ask = (): void => {
    source.state = "asked";
    try {
      const step = iterator.next();
      if ("then" in step) Promise.resolve(step).then(take, fail);
      else take(step);
    } catch (error) {
      fail(error);
    }
  };
  const fill = (): void => {
    isFilling = true;
    while (source.state === "ready" && started - handedOn < window.size) ask();
    isFilling = false;
    if (source.state === "asked") flushSoon();
    else calls.flush();
  };
  /** Very short items are begun in runs: each run wakes a worker once. */
  const isToFill = (): boolean => !window.isGrown || started - handedOn <= window.size * REFILL_BELOW;
  const isOver = (): boolean => source.state === "exhausted" && handedOn === started;

  ending.signal?.addEventListener("abort", notice);
  const unwatch = ending.watchClosed?.(notice);
  try {
    for (;;) {
      if (ending.signal?.aborted === true) throw ending.signal.reason;
      let group = queue.peek();
      if (group?.isReady !== true || isToFill()) {
        fill();
        if (isOver()) break;
        group = queue.peek();
      }
      if (group?.isReady !== true) {
        if (source.state === "failed") throw source.error;
        const closed = underWay.size === 0 ? ending.closed?.() : undefined;
        if (closed !== undefined) throw fromCaller(closed);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        continue;
      }
      const list: R[] = [];
      const longest = window.isGrown && onProgress === undefined ? LONGEST_LIST : 1;
      do {
        const { isFailure } = group;
        // What came before it is yielded first.
        if (isFailure && stopOnError && list.length > 0) break;
        const failure = isFailure ? group.take() : undefined;
        const count = isFailure ? 1 : group.takeValues(list, ordered ? longest : list.length + 1);
        if (!ordered || group.isEmpty) queue.shift();
        handedOn += count;
        if (isFailure) failures.push(errorOf(failure));
        else done += count;
        onProgress?.({ done, failed: failures.length, inFlight: started - handedOn, total });
        if (isFailure && stopOnError) throw placed(failure);
        group = queue.peek();
      } while (list.length < longest && group?.isReady === true && !isToFill());
      if (list.length > 0) yield list;
    }
  } finally {
    calls.drop();
    ending.signal?.removeEventListener("abort", notice);
    unwatch?.();
    if (underWay.size > 0) {
      const reason = new DOMException("The map that made this call has ended", "AbortError");
      for (const group of underWay) group.call?.cancel(reason);
    }
    if (source.state === "ready") await iterator.return?.();
    else if (source.state === "asked") Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${started} items failed`);
}

/** Most results that count as yielded before they are. */
const LONGEST_LIST = 64;
/** The part of a window below which it is filled again. With 1, 200,000 trivial items took 4.6 times as long. */
const REFILL_BELOW = 0.75;

/** A queue that takes and gives in constant time. */
class Fifo<T> {
  #items: (T | undefined)[] = [];
  #head = 0;

  push(item: T): void {
    this.#items.push(item);
  }

  peek(): T | undefined {
    return this.#items[this.#head];
  }

  shift(): void {
    this.#items[this.#head++] = undefined;
    if (this.#head < 1024 || this.#head * 2 < this.#items.length) return;
    this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }
}

/** Throws `InvalidArgument` if `items` cannot be iterated over. */
export function checkItems(items: unknown): void {
  const isCandidate = (typeof items === "object" && items !== null) || typeof items === "string";
  if (isCandidate && (Symbol.asyncIterator in Object(items) || Symbol.iterator in Object(items))) return;
  throw new InvalidArgument(
    `pool.map() takes an iterable, such as an array, a generator or a stream, not ${describeValue(items)}`,
  );
}

function iterate<T>(items: Iterable<T> | AsyncIterable<T>): AsyncIterator<T> | Iterator<T> {
  if (Symbol.asyncIterator in Object(items)) return (items as AsyncIterable<T>)[Symbol.asyncIterator]();
  return (items as Iterable<T>)[Symbol.iterator]();
}
