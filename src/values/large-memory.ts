import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Smaller pieces of memory are of no concern. */
const LARGE_BYTES = 64 * 1024;
/** Just under the largest that counts as a lesson to the allocator. */
const LESSON_BYTES = 32 * 1024 * 1024 - 64 * 1024;
/** Bytes of large pieces after which those that are not used any more are collected. */
const STEP_BYTES = 13 * 1024 * 1024;
/** A collection that was in vain counts by so much, another one the other way by one. */
const VANITY = 3;
/** At this count there is a pause, at first until there are so many bytes more. */
const PATIENCE = 12;
const PAUSE_BYTES = 256 * 1024 * 1024;
const LONGEST_PAUSE_BYTES = 16 * PAUSE_BYTES;
/** The latest version of Node.js that this was tried with: others may not have the options of V8 that it uses. */
const LATEST_NODE = 26;

let taught = false;
let collectYoung: (() => void) | undefined;
let uncollected = 0;
let due = STEP_BYTES;
let inVain = 0;
/** What it refers to is gone once V8 has looked through the whole heap; with Node.js 26 sooner, so that it pauses more. */
let witness: WeakRef<object> | undefined;
let pause = PAUSE_BYTES;

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
    uncollected += length;
    if (uncollected >= due) collect();
  }
  return Buffer.allocUnsafeSlow(length);
}

/**
 * Collects large pieces that are not used any more, and only among what is young. V8 by itself lets them pile up until it
 * looks through its whole heap, over and over: for a thread that gets large values and is done with them soon that is up to
 * half of its work. Where it does so all the same, since more of them are kept at a time than it allows to be added, this
 * is tried now and then only.
 */
function collect(): void {
  collectYoung ??= youngCollector();
  const isInVain = witness?.deref() === undefined;
  if (isInVain) witness = new WeakRef({});
  uncollected = 0;
  due = STEP_BYTES;
  if (!isInVain) {
    inVain = Math.max(inVain - 1, -PATIENCE);
    if (inVain < 0) pause = PAUSE_BYTES;
  } else {
    inVain += VANITY;
    if (inVain >= PATIENCE) {
      inVain = 0;
      due = pause;
      pause = Math.min(pause * 2, LONGEST_PAUSE_BYTES);
      return;
    }
  }
  collectYoung();
}

function youngCollector(): () => void {
  const gc = Number.parseInt(process.versions.node, 10) > LATEST_NODE ? undefined : hiddenCollector();
  if (typeof gc !== "function") return () => undefined;
  return () => {
    // In the background, memory would count as used for so long that V8 starts to look through its heap all the same.
    setFlagsFromString("--no-concurrent-array-buffer-sweeping");
    try {
      gc({ type: "minor" });
    } finally {
      setFlagsFromString("--concurrent-array-buffer-sweeping");
    }
  };
}

/** What `gc` is with `--expose-gc`, without making it a global of this thread. */
function hiddenCollector(): unknown {
  const exposed: unknown = runInNewContext("globalThis.gc");
  if (exposed !== undefined) return exposed;
  setFlagsFromString("--expose-gc");
  try {
    return runInNewContext("globalThis.gc");
  } finally {
    setFlagsFromString("--no-expose-gc");
  }
}
