import type { Writable } from "node:stream";

/**
 * Puts the output of different tasks to a stream on separate lines: a task may end, or wait, in the middle of a line. A
 * task that continues its own line is not affected.
 *
 * @param currentTask - returns the task that writes now; undefined outside of tasks
 */
export function separateLines(stream: Writable, currentTask: () => object | undefined): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let last: object | undefined;
  let isInLine = false;
  stream.write = (chunk: unknown, ...rest: unknown[]): boolean => {
    const isText = typeof chunk === "string";
    if ((isText || chunk instanceof Uint8Array) && chunk.length > 0) {
      const task = currentTask();
      if (isInLine && task !== last) write("\n");
      last = task;
      isInLine = isText ? !chunk.endsWith("\n") : chunk.at(-1) !== 0x0a;
    }
    return write(chunk, ...rest);
  };
}
