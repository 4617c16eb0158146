const cleanups = new Set<() => void>();

/**
 * Runs `cleanup`, which must be synchronous, when the process (or the thread, inside a worker thread) exits.
 * Returns a function that unregisters it.
 */
export function cleanUpAtExit(cleanup: () => void): () => void {
  // One listener for all of them: Node warns about leaks at the eleventh.
  if (cleanups.size === 0) process.on("exit", runCleanups);
  cleanups.add(cleanup);
  return () => {
    if (cleanups.delete(cleanup) && cleanups.size === 0) process.off("exit", runCleanups);
  };
}

function runCleanups(): void {
  for (const cleanup of cleanups) {
    try {
      cleanup();
    } catch {
      // The process is ending. The next process that sweeps removes the rest.
    }
  }
}
