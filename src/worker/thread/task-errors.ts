import { isError } from "../../checks/index.ts";
import { CodeUnavailable, SerializationError, WoolError } from "../../errors.ts";
import type { RemoteRoutine } from "./routines/index.ts";

/** The error of a task whose code, or that of its arguments, the worker cannot load. */
export function codeUnavailable(routine: string, cause: unknown): Error {
  if (isWoolError(cause)) return cause;
  return new CodeUnavailable(`the worker cannot load what ${routine} needs: ${reasonOf(cause)}`, { cause });
}

/**
 * The error of a task whose outcome cannot be encoded: an error of the routine's serializer is not an error of the
 * task.
 */
export function undumpable(routine: RemoteRoutine, cause: unknown): unknown {
  if (!routine.hasSerializer || isWoolError(cause)) return cause;
  return new SerializationError(
    `the serializer of ${routine.name} could not dump its result: ${reasonOf(cause)}`,
    "result",
    { cause },
  );
}

/** Stands for a thrown value that cannot travel. */
export function untransportable(routine: string, error: unknown, cause: unknown): Error {
  const what = describe(error, (known) => `${String(known.name)}: ${String(known.message)}`);
  const path = isA(SerializationError, cause) ? cause.path : "error";
  return new SerializationError(`${routine} threw something that cannot travel (${what}): ${reasonOf(cause)}`, path);
}

function reasonOf(cause: unknown): string {
  return describe(cause, ({ message }) => String(message));
}

/** Describes a thrown value. Asking the value for a description may run user code, which may throw too. */
function describe(thrown: unknown, ofError: (error: Error) => string): string {
  try {
    return isError(thrown) ? ofError(thrown) : String(thrown);
  } catch {
    return typeof thrown === "function" ? "a function without a description" : "an object without a description";
  }
}

/** `instanceof` that returns false for values that cannot even be asked, such as a revoked proxy. */
export function isA<T>(type: new (...args: never[]) => T, value: unknown): value is T {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

/** `WoolError.isWoolError` that returns false for values that cannot even be asked. */
export function isWoolError(value: unknown): value is WoolError {
  try {
    return WoolError.isWoolError(value);
  } catch {
    return false;
  }
}
