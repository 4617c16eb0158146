import type { CallOptions } from "./options.ts";
import type { RoutineSpec } from "./routine-spec.ts";

/** Carries calls to workers: a pool, a proxy. */
export interface CallCarrier {
  /** @internal Runs a function on a worker. */
  call(spec: RoutineSpec, args: readonly unknown[], options: CallOptions | undefined): Promise<unknown>;
  /** @internal Runs a generator on a worker; nothing is sent before the first step. */
  stream(
    spec: RoutineSpec,
    args: readonly unknown[],
    options: CallOptions | undefined,
  ): AsyncGenerator<unknown, unknown, unknown>;
}

/** Whether routines can be dispatched through `value`. */
export function isCallCarrier(value: unknown): value is CallCarrier {
  return (
    typeof value === "object" &&
    value !== null &&
    "call" in value &&
    typeof value.call === "function" &&
    "stream" in value &&
    typeof value.stream === "function"
  );
}
