import { writeSync } from "node:fs";
import { cleanUpAtExit } from "../host/index.ts";

/** Warns a program that ends while its pool is open. Returns a function that cancels the warning. */
export function warnIfLeftOpen(workers: number): () => void {
  return cleanUpAtExit(() => {
    if (process.exitCode !== undefined && process.exitCode !== 0) return;
    writeSync(
      2,
      `wool-ts: the program ended with a pool of ${workers} workers open; they ended with it. ` +
        "Stop the pool with `await pool.stop()`, or declare it with `await using`.\n",
    );
  });
}
