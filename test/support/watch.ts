/** A promise, and whether it has been settled yet. */
export interface Watched<T> {
  readonly promise: Promise<T>;
  readonly settled: boolean;
}

/** Watches a promise without affecting it. */
export function watch<T>(promise: Promise<T>): Watched<T> {
  const watched = { promise, settled: false };
  const settle = (): void => {
    watched.settled = true;
  };
  promise.then(settle, settle);
  return watched;
}
