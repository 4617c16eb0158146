import type { Dependency } from "../functions/index.ts";

/** What workers are told of a routine, once for each session: its code with what it captured, and its static facts. */
export interface Route {
  /** Names the route in every session of this process. */
  readonly number: number;
  readonly name: string;
  /** The encoded function. */
  readonly code: Uint8Array;
  readonly dependencies: readonly Dependency[];
  readonly streams: boolean;
  readonly method: boolean;
  /** The encoded serializer of the routine, if it has its own. */
  readonly serializer: Uint8Array | undefined;
  /** The function captured things that it may change: each task gets a fresh copy. */
  readonly fresh: boolean;
  /** The number of the route that this one takes the place of; 0 for none. */
  readonly replaces: number;
}

let lastNumber = 0;

/** A number for a new route. */
export function nextRouteNumber(): number {
  return ++lastNumber;
}
