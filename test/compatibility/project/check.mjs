import { isDeepStrictEqual } from "node:util";
import { SerializationError, WorkerPool } from "wool-ts";

/**
 * Runs each case in this process, where a routine is an ordinary function as long as there is no pool, and then with a
 * worker, and writes a line of JSON about it: the outcomes must be the same.
 *
 * @param {Record<string, () => unknown>} cases - each gives plain data
 */
export async function check(cases) {
  const expected = new Map();
  for (const [name, run] of Object.entries(cases)) expected.set(name, await outcomeOf(run));
  const pool = await WorkerPool.start({ size: 1 });
  try {
    for (const [name, run] of Object.entries(cases)) {
      const started = performance.now();
      const actual = await outcomeOf(run);
      const time = Math.round(performance.now() - started);
      process.stdout.write(`${JSON.stringify({ name, time, ...judge(expected.get(name), actual) })}\n`);
    }
  } finally {
    await pool.stop();
  }
}

async function outcomeOf(run) {
  try {
    return { value: await run() };
  } catch (error) {
    return { error };
  }
}

function judge(expected, actual) {
  if (expected.error !== undefined) return { outcome: "wrong", detail: `fails locally: ${textOf(expected.error)}` };
  if (actual.error instanceof SerializationError) return { outcome: "refused", detail: actual.error.message };
  if (actual.error !== undefined) return { outcome: "wrong", detail: textOf(actual.error) };
  if (isDeepStrictEqual(actual.value, expected.value)) return { outcome: "right", detail: "" };
  return { outcome: "wrong", detail: `${JSON.stringify(actual.value)} instead of ${JSON.stringify(expected.value)}` };
}

function textOf(error) {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** What a promise rejects with. That something cannot travel is no answer to the case. */
export async function reasonOf(promise) {
  try {
    await promise;
  } catch (error) {
    if (error instanceof SerializationError) throw error;
    return error;
  }
  throw new Error("nothing was thrown");
}
