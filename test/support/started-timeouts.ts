/**
 * The timeouts that `body` starts. For tests with fake timers. A spy on `setTimeout` would restore the fake one later:
 * `vi.restoreAllMocks()` undoes all spies, also those of other files in the process.
 */
export function timeoutsStartedBy(body: () => void): NodeJS.Timeout[] {
  const { setTimeout: start } = globalThis;
  const started: NodeJS.Timeout[] = [];
  globalThis.setTimeout = ((...args: Parameters<typeof start>) => {
    const timeout = start(...args);
    started.push(timeout);
    return timeout;
  }) as typeof start;
  try {
    body();
  } finally {
    globalThis.setTimeout = start;
  }
  return started;
}
