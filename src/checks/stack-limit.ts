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
