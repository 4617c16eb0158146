const listeners = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `callback` when a signal is aborted. Many calls may share a signal, so it gets one listener for all of them.
 * Returns a function that removes the callback.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  let callbacks = listeners.get(signal);
  if (callbacks === undefined) {
    callbacks = new Set();
    listeners.set(signal, callbacks);
    const shared = callbacks;
    signal.addEventListener(
      "abort",
      () => {
        listeners.delete(signal);
        for (const each of Array.from(shared)) each();
      },
      { once: true },
    );
  }
  callbacks.add(callback);
  const joined = callbacks;
  return () => joined.delete(callback);
}
