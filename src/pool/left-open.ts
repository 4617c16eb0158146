import { writeSync } from "node:fs";
import { cleanUpAtExit } from "../host/index.ts";

/** Tells a program that ends with a pool still open. Returns the undo. */
export function warnIfLeftOpen(workers: number): () => void {
  return cleanUpAtExit(() => {
    if (process.exitCode !== undefined && process.exitCode !== 0) return;
    writeSync(
      2,
      `wool-ts: the program ended with a pool of ${workers} workers open; they were ended with it. ` +
        "Stop the pool with `await pool.stop()`, or declare it with `await using`.\n",
    );
  });
}
