import { writeSync } from "node:fs";
import { cleanUpAtExit } from "../host/index.ts";

/** Warns a program that ends while its pool, which has started so many workers, is open. Returns what cancels that. */
export function warnIfLeftOpen(workers: number): () => void {
  const [open, end] =
    workers === 0
      ? ["a pool open", "its workers, which others started, go on"]
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
