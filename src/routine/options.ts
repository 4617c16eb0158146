import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { isSerializer, type Serializer } from "../values/index.ts";
import { isDispatcher } from "./dispatcher.ts";

/** How a routine is run, wherever it is called from. */
export interface RoutineOptions {
  /** Shown in tags, traces and errors. Default: the function's own name, else that of the variable or property that holds the routine. */
  readonly name?: string;
  /** Longest execution in milliseconds, enforced on both sides. Default: none. */
  readonly timeout?: number;
  /** Longest time in milliseconds to find a worker and be accepted by it. Default: none. */
  readonly dispatchTimeout?: number;
  /** Whether one more try elsewhere is allowed when a worker is lost while it runs the task. Default: false. */
  readonly idempotent?: boolean;
  /** How the code travels. Default: `"auto"`. */
  readonly ship?: "auto" | "reference" | "value";
  /** Used for arguments, results, yielded, sent and thrown values alike. Default: the runtime's own. */
  readonly serializer?: Serializer;
  /** Generators: how many steps the worker may run ahead of `next()`. Default: 0, strictly on demand. */
  readonly prefetch?: number;
}

/** What routines can be dispatched through: a `WorkerPool` or a `WorkerProxy`. */
export interface PoolScope {
  run<T>(fn: () => T): T;
}

/** How one call is made. */
export interface CallOptions extends RoutineOptions {
  /** Cancels the call. */
  readonly signal?: AbortSignal;
  /** The `WorkerPool` or `WorkerProxy` to dispatch through. */
  readonly pool?: PoolScope;
  /** Affinity key, for balancers that use one. */
  readonly key?: string;
}

/** Says what an option must be when `value` is not that. */
export type Check = (value: unknown) => string | undefined;

const milliseconds: Check = (value) =>
  typeof value === "number" && value >= 0 ? undefined : "a number of milliseconds, zero or more";
const text: Check = (value) => (typeof value === "string" ? undefined : "a string");

const ROUTINE_CHECKS: Record<keyof RoutineOptions, Check> = {
  name: (value) => (typeof value === "string" && value !== "" ? undefined : "a string that is not empty"),
  timeout: milliseconds,
  dispatchTimeout: milliseconds,
  idempotent: (value) => (typeof value === "boolean" ? undefined : "true or false"),
  ship: (value) =>
    value === "auto" || value === "reference" || value === "value" ? undefined : '"auto", "reference" or "value"',
  serializer: (value) => (isSerializer(value) ? undefined : "an object with the methods dumps and loads"),
  prefetch: (value) =>
    typeof value === "number" && Number.isInteger(value) && value >= 0 ? undefined : "a whole number, zero or more",
};

/** What each option of a call must be. */
export const CALL_CHECKS: Record<keyof CallOptions, Check> = {
  ...ROUTINE_CHECKS,
  signal: (value) => (value instanceof AbortSignal ? undefined : "an AbortSignal"),
  pool: (value) => (isDispatcher(value) ? undefined : "a WorkerPool or WorkerProxy"),
  key: text,
};

/** Throws `InvalidArgument` for an option that is unknown or of the wrong kind. */
export function checkRoutineOptions(options: unknown, what: string): asserts options is RoutineOptions {
  checkOptions(options, ROUTINE_CHECKS, what);
}

/** Throws `InvalidArgument` for an option that is unknown or of the wrong kind. */
export function checkCallOptions(options: unknown, what: string): asserts options is CallOptions {
  checkOptions(options, CALL_CHECKS, what);
}

/** Checks an options object against a table of what each option must be. Absent options are fine. */
export function checkOptions(options: unknown, checks: Readonly<Record<string, Check>>, what: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new InvalidArgument(`${what} takes an options object, not ${describeValue(options)}`);
  }
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (check === undefined) {
      throw new InvalidArgument(`${what} has no option "${key}"; ${closest(key, Object.keys(checks))}`);
    }
    const expected = check(value);
    if (expected !== undefined) {
      throw new InvalidArgument(`${what}: option "${key}" must be ${expected}, not ${describeValue(value)}`);
    }
  }
}

function closest(key: string, known: readonly string[]): string {
  const near = known.find((name) => name.toLowerCase() === key.toLowerCase() || editDistance(name, key) <= 2);
  return near === undefined ? `it has ${known.join(", ")}` : `did you mean "${near}"?`;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const substitution = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, substitution);
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
