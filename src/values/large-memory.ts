import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Smaller pieces of memory are of no concern. */
const LARGE_BYTES = 64 * 1024;
/** Just under the largest that counts as a lesson to the allocator. */
const LESSON_BYTES = 32 * 1024 * 1024 - 64 * 1024;
/** Bytes of large pieces after which those that are not used any more are collected. */
const COLLECTED_BYTES = 12 * 1024 * 1024;

let taught = false;
let eager = false;
let collectYoung: (() => void) | undefined;
let uncollected = 0;

/**
 * Uninitialised memory of its own for a large piece of data, which is to be overwritten whole.
 *
 * The C library gives freed memory back to the system once more than twice the size of the largest piece that it has
 * seen freed is unused, and getting a page again costs several times what copying into it does. So it is shown one
 * large piece, which is freed without having been touched: from then on it keeps up to 64 MB for what comes next.
 */
export function allocateLarge(length: number): Buffer<ArrayBuffer> {
  if (length >= LARGE_BYTES) {
    if (!taught) {
      taught = true;
      Buffer.allocUnsafeSlow(LESSON_BYTES);
    }
    if (eager) countLarge(length);
  }
  return Buffer.allocUnsafeSlow(length);
}

/**
 * From now on large pieces of this thread that are not used any more are collected soon, and only among what is young.
 * V8 by itself lets them pile up until it has to look through its whole heap, over and over: for a thread that gets
 * large arguments and is done with them at once that is more than half of its work.
 */
export function collectLargeEagerly(): void {
  eager = true;
}

function countLarge(length: number): void {
  uncollected += length;
  if (uncollected < COLLECTED_BYTES) return;
  uncollected = 0;
  collectYoung ??= youngCollector();
  collectYoung();
}

function youngCollector(): () => void {
  const gc = globalThis.gc ?? hiddenCollector();
  return typeof gc === "function" ? () => void gc({ type: "minor" }) : () => undefined;
}

/** What `gc` is with `--expose-gc`, without making it a global of this thread. */
function hiddenCollector(): unknown {
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("globalThis.gc");
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
