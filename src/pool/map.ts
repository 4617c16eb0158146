import { fromCaller, placed } from "../call/index.ts";
import { checkOptions, describeValue, must } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { CALL_CHECKS, type CallOptions } from "../routine/index.ts";

/** How far a `map` has come. */
export interface Progress {
  /** Items whose result has arrived. */
  readonly done: number;
  /** Items whose call failed. */
  readonly failed: number;
  /** Items whose call has been made and whose result has not been yielded. */
  readonly inFlight: number;
  /** Items in all, when that is known beforehand. */
  readonly total: number | undefined;
}

/** How items are mapped. */
export interface MapOptions extends CallOptions {
  /** Most calls that run at once. Default: 8 for each worker, at least 16. */
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
export interface Ending {
  /** Its abortion ends the iteration at once. */
  readonly signal?: AbortSignal | undefined;
  /** Why no more calls can be made; undefined as long as they can. */
  readonly closed?: () => Error | undefined;
  /** Has a function called when that changes; returns what undoes it. */
  readonly watchClosed?: (changed: () => void) => () => void;
}

type Settled<R> = { readonly value: R } | { readonly error: unknown };

/**
 * Calls `call` for each item with a bound on how many are under way, and yields the results. Nothing is read from
 * `items` before there is room for it, and nothing waits for an item that is not there yet but that item's own call.
 * Leaving the iteration cancels what is under way, and so does `ending`. The source is closed then, but not waited for
 * while it is itself waiting for an item: that may never come.
 */
export async function* mapConcurrently<T, R>(
  items: Iterable<T> | AsyncIterable<T>,
  call: (item: T, signal: AbortSignal) => Promise<R>,
  options: MapOptions,
  concurrency: number,
  ending: Ending = {},
): AsyncGenerator<R, void, void> {
  const { ordered = true, stopOnError = true, onProgress } = options;
  const total = Array.isArray(items) ? items.length : undefined;
  const iterator = iterate(items);
  const cancel = new AbortController();
  /** Outcomes that have not been handed on, by the number of their item or of their arrival. */
  const settled = new Map<number, Settled<R>>();
  const failures: unknown[] = [];
  const source: Source = { state: "ready", error: undefined };
  let started = 0;
  let arrived = 0;
  let handedOn = 0;
  let done = 0;
  let wake: (() => void) | undefined;

  const settle = (item: number, outcome: Settled<R>): void => {
    settled.set(ordered ? item : arrived, outcome);
    arrived++;
    wake?.();
  };
  const take = (step: IteratorResult<T>): void => {
    source.state = step.done === true ? "exhausted" : "ready";
    if (step.done !== true) {
      const item = started++;
      call(step.value, cancel.signal).then(
        (value) => settle(item, { value }),
        (error: unknown) => settle(item, { error }),
      );
    }
    wake?.();
  };
  const fail = (error: unknown): void => {
    source.state = "failed";
    source.error = error;
    wake?.();
  };
  const ask = (): void => {
    source.state = "asked";
    try {
      const step = iterator.next();
      if (step instanceof Promise) step.then(take, fail);
      else if ("then" in step) Promise.resolve(step).then(take, fail);
      else take(step);
    } catch (error) {
      fail(error);
    }
  };
  const isOver = (): boolean => source.state === "exhausted" && handedOn === started;
  const change = (): Promise<void> => {
    const changed = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const { signal, watchClosed } = ending;
    if (signal === undefined && watchClosed === undefined) return changed;
    const notice = (): void => wake?.();
    signal?.addEventListener("abort", notice);
    const unwatch = watchClosed?.(notice);
    return changed.then(() => {
      signal?.removeEventListener("abort", notice);
      unwatch?.();
    });
  };

  try {
    for (;;) {
      if (ending.signal?.aborted === true) throw ending.signal.reason;
      while (source.state === "ready" && started - handedOn < concurrency) ask();
      if (isOver()) break;
      const outcome = settled.get(handedOn);
      if (outcome === undefined) {
        if (source.state === "failed") throw source.error;
        const closed = arrived === started ? ending.closed?.() : undefined;
        if (closed !== undefined) throw fromCaller(closed);
        await change();
        continue;
      }
      settled.delete(handedOn++);
      if ("error" in outcome) failures.push(outcome.error);
      else done++;
      onProgress?.({ done, failed: failures.length, inFlight: started - handedOn, total });
      if (!("error" in outcome)) yield outcome.value;
      else if (stopOnError) throw placed(outcome.error);
    }
  } finally {
    cancel.abort();
    if (source.state === "ready") await iterator.return?.();
    else if (source.state === "asked") Promise.resolve(iterator.return?.()).catch(() => undefined);
  }
  if (failures.length > 0) throw new AggregateError(failures, `${failures.length} of ${started} items failed`);
}

/** Throws `InvalidArgument` if `items` cannot be iterated over. */
export function checkItems(items: unknown): void {
  const isCandidate = (typeof items === "object" && items !== null) || typeof items === "string";
  if (isCandidate && (Symbol.asyncIterator in Object(items) || Symbol.iterator in Object(items))) return;
  throw new InvalidArgument(
    `pool.map() takes something to iterate over: an array, a generator, a stream; not ${describeValue(items)}`,
  );
}

function iterate<T>(items: Iterable<T> | AsyncIterable<T>): AsyncIterator<T> | Iterator<T> {
  if (Symbol.asyncIterator in Object(items)) return (items as AsyncIterable<T>)[Symbol.asyncIterator]();
  return (items as Iterable<T>)[Symbol.iterator]();
}
