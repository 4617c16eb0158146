import { inspect } from "node:util";

/** The reason why a promise was rejected. If it was not, returns a value that is not an error and says so. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => ["it succeeded", value],
    (reason: unknown) => reason,
  );
}

/** The error of this class that a promise was rejected with. */
export async function errorOf<E extends Error>(
  promise: Promise<unknown>,
  kind: new (...args: never[]) => E,
): Promise<E> {
  const reason = await reasonOf(promise);
  if (reason instanceof kind) return reason;
  throw new Error(`expected ${kind.name}, not ${inspect(reason)}`);
}
