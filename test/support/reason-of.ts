/** Why a promise was rejected. When it was not, what comes back is no error and says so. */
export async function reasonOf(promise: Promise<unknown>): Promise<unknown> {
  return await promise.then(
    (value) => ["it succeeded", value],
    (reason: unknown) => reason,
  );
}
