import type { Dependency } from "../functions/index.ts";
import type { WeakCollection } from "../values/index.ts";
import type { TaskCost } from "./task-cost.ts";

/** A routine as workers get it, once for each session: its code with captured values, and its static facts. */
export interface Route {
  /** Names the route in every session of this process. */
  readonly number: number;
  readonly name: string;
  /** The encoded function. */
  readonly code: Uint8Array;
  readonly dependencies: readonly Dependency[];
  /** No shared value is among the dependencies: calls need not look for one. */
  readonly sharesNothing?: boolean;
  /** The weak collections that the function captured: their entries for objects of a call travel with the call. */
  readonly weak: readonly WeakCollection[];
  readonly streams: boolean;
  readonly method: boolean;
  /** The encoded serializer of the routine, if it has its own. */
  readonly serializer: Uint8Array | undefined;
  /** The function may change values that it captured: each task gets a fresh copy. */
  readonly fresh: boolean;
  /** The number of the route that this one replaces; 0 for none. */
  readonly replaces: number;
  /** The cost of its tasks; the same object for all routes of a routine. */
  readonly cost?: TaskCost;
  /** Names the function instead of `code`, such as `py:module:function`. */
  readonly target?: string;
  /** The language of the function that the target names; workers that run others do not get the call. */
  readonly language?: string;
  /** How its values are encoded, if not in the encoding of this runtime. */
  readonly encoding?: "json";
}

const COUNTER = Symbol.for("wool-ts.routes.v1");

/** One for the process, also when two copies of the package are loaded: a pool of one carries the routines of both. */
function sharedCounter(): { last: number } {
  const holder = globalThis as { [COUNTER]?: { last: number } };
  holder[COUNTER] ??= { last: 0 };
  return holder[COUNTER];
}

const counter = sharedCounter();

/** A number for a new route. */
export function nextRouteNumber(): number {
  return ++counter.last;
}
