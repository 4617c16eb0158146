/**
 * The timeouts that `body` starts. For tests with fake timers, which a spy on `setTimeout` would bring back later: all spies
 * are undone with `vi.restoreAllMocks()`, also in other files of the process.
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
