import type { Readable, Writable } from "node:stream";

/** Resolves when everything written to a stream so far has left it, or when the stream cannot write any more. */
export function written(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed || stream.writableEnded) resolve();
    else stream.write("", () => resolve());
  });
}

/** Resolves when a stream has been read to its end. */
export function readToEnd(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.readableEnded || stream.destroyed) return resolve();
    stream.once("end", resolve);
    stream.once("close", resolve);
  });
}

/** Waits for a promise, but no longer than `ms` milliseconds. */
export async function within(ms: number, awaited: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.max(0, ms));
  });
  await Promise.race([awaited, over]);
  clearTimeout(timer);
}
