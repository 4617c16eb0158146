import { currentTask } from "../../routine/index.ts";

/**
 * Reports exceptions and rejections of this thread that nobody handles, and goes on: those of one task are nothing to the
 * others. Where the engine knows which task it came from, the report names it.
 */
export function containStrayErrors(): void {
  process.on("uncaughtException", (error) => report("uncaught exception", error));
  process.on("unhandledRejection", (error) => report("unhandled rejection", error));
}

function report(kind: string, error: unknown): void {
  const task = currentTask();
  const where = task === undefined ? "outside of any task" : `in task ${task.name}`;
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`${kind} ${where}, and the worker goes on: ${text}\n`);
}
