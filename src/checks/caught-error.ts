import { types } from "node:util";

/**
 * Whether a value is an error of any realm. Test runners run modules in a separate realm, while Node.js itself creates
 * its errors in the main one; those are not instances of the other realm's `Error`.
 */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

/** The thrown value as an error. */
export function asError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(String(thrown));
}

/** An error's message, or the thrown value as a string. */
export function messageOf(thrown: unknown): string {
  return isError(thrown) ? thrown.message : String(thrown);
}

/** An error's stack, or the thrown value as a string. */
export function stackOf(thrown: unknown): string {
  return isError(thrown) ? (thrown.stack ?? thrown.message) : String(thrown);
}

/** The code of an error, such as `ENOENT`; undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  return isError(error) && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Runs `body` while stacks have at most `limit` lines. If the program has frozen `Error`, the limit stays as it is. */
export function withStackLimit<T>(limit: number, body: () => T): T {
  const before = Error.stackTraceLimit;
  if (!Reflect.set(Error, "stackTraceLimit", limit)) return body();
  try {
    return body();
  } finally {
    Error.stackTraceLimit = before;
  }
}
