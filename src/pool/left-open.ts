import { writeSync } from "node:fs";
import { cleanUpAtExit } from "../host/index.ts";

/**
 * Warns when the program ends while its pool, which has started so many workers, is open. Returns a function that
 * cancels the warning.
 */
export function warnIfLeftOpen(workers: number): () => void {
  const [open, end] =
    workers === 0
      ? ["a pool open", "its workers, which it did not start, go on"]
      : [`a pool of ${workers} workers open`, "they ended with it"];
  return cleanUpAtExit(() => {
    if (process.exitCode !== undefined && process.exitCode !== 0) return;
    writeSync(
      2,
      `wool-ts: the program ended with ${open}; ${end}. ` +
        "Stop the pool with `await pool.stop()`, or declare it with `await using`.\n",
    );
  });
}
