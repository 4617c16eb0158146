import type { Route } from "../routine/index.ts";
import type { Call } from "./call.ts";

/** Microseconds of work in a pack: about the cost of waking a thread. */
const PACK_US = 200;
/** Most bytes of arguments in a pack. */
export const MOST_PACK_BYTES = 16 * 1024;

/** How many calls of a routine make a pack, by the durations of earlier calls; 1 if there were none, `most` at most. */
export function callsPerPack(route: Route, most: number): number {
  if (route.method || route.streams || route.encoding !== undefined) return 1;
  return Math.max(1, Math.min(most, route.cost?.run(PACK_US) ?? 1));
}

/** Told how each call of a pack ended. */
export interface PackSink {
  /** Calls that follow each other, from `first` on, have returned these values. */
  succeeded(first: number, values: readonly unknown[]): void;
  failed(index: number, failure: unknown): void;
}

/** Several calls of one routine that travel as one: tells the caller of each, and knows which have ended. */
export class CallPack {
  /** The number of bytes of each call's arguments. */
  readonly lengths: readonly number[];
  /** Whether its calls were made one by one (`packCalls`): each counts as a call at its worker. */
  readonly isJoined: boolean;
  /** The separate calls that it was split into, for a worker that does not accept packs. */
  parts: readonly Call[] | undefined;
  readonly #sink: PackSink;
  readonly #ended: Uint8Array;
  #left: number;

  constructor(lengths: readonly number[], sink: PackSink, isJoined = false) {
    this.lengths = lengths;
    this.isJoined = isJoined;
    this.#sink = sink;
    this.#ended = new Uint8Array(lengths.length);
    this.#left = lengths.length;
  }

  /** Calls that have not ended. */
  get left(): number {
    return this.#left;
  }

  /**
   * Notes that calls which follow each other have ended. Returns false, and notes nothing, when one of them does not exist
   * or had already ended.
   */
  end(first: number, count = 1): boolean {
    const ended = this.#ended;
    for (let index = first; index < first + count; index++) if (ended[index] !== 0) return false;
    for (let index = first; index < first + count; index++) ended[index] = 1;
    this.#left -= count;
    return true;
  }

  /** Tells the callers of calls that follow each other what these returned. */
  tellValues(first: number, values: readonly unknown[]): void {
    this.#sink.succeeded(first, values);
  }

  /** Tells the caller of one call that it failed. */
  tellFailure(index: number, failure: unknown): void {
    this.#sink.failed(index, failure);
  }

  /** Fails every call that has not ended. */
  fail(failure: unknown): void {
    for (let index = 0; index < this.lengths.length; index++) {
      if (this.end(index)) this.#sink.failed(index, failure);
    }
  }
}
