import type { RoutineSpec } from "./routine-spec.ts";

/** The property that holds a routine's spec. */
export const SPEC = Symbol.for("wool-ts.routine.spec");

/** The spec behind a routine, or `undefined` for anything else. */
export function routineSpecOf(value: unknown): RoutineSpec | undefined {
  return typeof value === "function" && SPEC in value ? (value as { [SPEC]: RoutineSpec })[SPEC] : undefined;
}
