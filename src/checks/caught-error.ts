import { types } from "node:util";

/**
 * Whether a value is an error, of whatever realm: test runners run modules in a realm of their own, while the errors of
 * Node.js itself are those of the main one, which are no instances of the `Error` of the other.
 */
export function isError(value: unknown): value is Error {
  return types.isNativeError(value) || value instanceof Error;
}

/** What was thrown, as an error. */
export function asError(thrown: unknown): Error {
  return isError(thrown) ? thrown : new Error(String(thrown));
}

/** What an error says, or whatever else was thrown. */
export function messageOf(thrown: unknown): string {
  return isError(thrown) ? thrown.message : String(thrown);
}

/** An error's stack, or whatever else was thrown. */
export function stackOf(thrown: unknown): string {
  return isError(thrown) ? (thrown.stack ?? thrown.message) : String(thrown);
}

/** The code of an error, such as `ENOENT`; undefined for what has none. */
export function errorCode(error: unknown): string | undefined {
  return isError(error) && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Runs `body` while stacks have at most `limit` lines. Where a program has frozen `Error` they stay as long as they are. */
export function withStackLimit<T>(limit: number, body: () => T): T {
  const before = Error.stackTraceLimit;
  if (!Reflect.set(Error, "stackTraceLimit", limit)) return body();
  try {
    return body();
  } finally {
    Error.stackTraceLimit = before;
  }
}
