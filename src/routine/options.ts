import { type Check, checkOptions, must } from "../checks/index.ts";
import { isSerializer, type Serializer } from "../values/index.ts";
import { isCallCarrier } from "./call-carrier.ts";

/** Options of a routine, for all of its calls. */
export interface RoutineOptions {
  /** Shown in tags, traces and errors. Default: the name of the function, else of the variable or property that holds the routine. */
  readonly name?: string;
  /** Longest execution in milliseconds, enforced on both sides. Default: none. */
  readonly timeout?: number;
  /** Longest time in milliseconds to find a worker and be accepted by it. Default: none. */
  readonly dispatchTimeout?: number;
  /** Whether the task may be tried once more on another worker when its worker is lost. Default: false. */
  readonly idempotent?: boolean;
  /**
   * How the code travels. `"reference"`: the worker imports the function. `"value"`: its code is sent. `"auto"`: by
   * reference if the worker can get the same function by itself, else by value. Default: `"auto"`.
   */
  readonly ship?: "auto" | "reference" | "value";
  /** Used for arguments, results, yielded, sent and thrown values alike. Default: the runtime's own. */
  readonly serializer?: Serializer;
  /**
   * `"data"`: functions, and instances of classes that the caller does not know, are refused in results, yielded and thrown
   * values, before any code of the worker is compiled. Default: they are accepted.
   */
  readonly results?: "data";
  /** Generators: how many steps the worker may run ahead of `next()`. Default: 0, strictly on demand. */
  readonly prefetch?: number;
  /** Tags that a worker must have to get the task: all of them. Default: none. */
  readonly needs?: readonly string[];
}

/** A `WorkerPool` or a `WorkerProxy`: routines can be dispatched through it. */
export interface PoolLike {
  run<T>(fn: () => T): T;
}

/** Options of one call. */
export interface CallOptions extends RoutineOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** The `WorkerPool` or `WorkerProxy` to dispatch through. */
  readonly pool?: PoolLike;
  /** Affinity key, for balancers that use one. */
  readonly key?: string;
}

const ROUTINE_CHECKS: Record<keyof RoutineOptions, Check> = {
  name: must.filledText,
  timeout: must.duration,
  dispatchTimeout: must.duration,
  idempotent: must.flag,
  ship: must.oneOf("auto", "reference", "value"),
  serializer: (value) => (isSerializer(value) ? undefined : "an object with the methods dumps and loads"),
  results: must.oneOf("data"),
  prefetch: must.wholeNumber(0),
  needs: must.texts,
};

/** The check of each option of a call. */
export const CALL_CHECKS: Record<keyof CallOptions, Check> = {
  ...ROUTINE_CHECKS,
  signal: must.abortSignal,
  pool: (value) => (isCallCarrier(value) ? undefined : "a WorkerPool or WorkerProxy"),
  key: must.text,
};

/** Throws `InvalidArgument` for an option that is unknown or of the wrong kind. */
export function checkRoutineOptions(options: unknown, what: string): asserts options is RoutineOptions {
  checkOptions(options, ROUTINE_CHECKS, what);
}

/** Throws `InvalidArgument` for an option that is unknown or of the wrong kind. */
export function checkCallOptions(options: unknown, what: string): asserts options is CallOptions {
  checkOptions(options, CALL_CHECKS, what);
}
