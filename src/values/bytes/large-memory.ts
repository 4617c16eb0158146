import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Smaller pieces of memory are of no concern. */
const LARGE_BYTES = 64 * 1024;
/** Just under the largest that counts as a lesson to the allocator. */
const LESSON_BYTES = 32 * 1024 * 1024 - 64 * 1024;
/** Bytes of large pieces after which those that are not used any more are collected. */
const STEP_BYTES = 13 * 1024 * 1024;
/** In so many collections an object that is in use becomes an old one. */
const YOUTH = 2;
/** V8 has to leave its heap alone for so many collections, or else they are in vain, and there is a pause for so many bytes. */
const ENOUGH = 16;
const PAUSE_BYTES = 256 * 1024 * 1024;
const LONGEST_PAUSE_BYTES = 16 * PAUSE_BYTES;
/** So much may be added to a heap that is not larger than so much before V8 looks through it. */
const ROOM_BYTES = 64 * 1024 * 1024;
const SMALL_HEAP_BYTES = 32 * 1024 * 1024;
/** The latest version of Node.js that this was tried with: others may not have the options of V8 that it uses. */
const LATEST_NODE = 26;

let taught = false;
let collector: Collector | undefined;
let uncollected = 0;
let due = STEP_BYTES;
let pause = PAUSE_BYTES;
let isPausing = false;
/** Collections since V8 looked through the heap, or since a pause. */
let collections = Number.POSITIVE_INFINITY;
/** An old object that nothing refers to: it is gone once V8 has looked through the whole heap. */
let witness: WeakRef<object> | undefined;
/** The next witness, for as long as it is young, and how many collections it has seen. */
let candidate: object | undefined;
let age = 0;

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
 * looks through its whole heap; and then again as soon as 8 MB were added, whether they are in use or not. For a thread
 * that has a few large values at a time and is done with them soon that is up to half of its work. So it is given room
 * whenever it has done so. Where it does it all the same, since more than that is in use, this is tried now and then only.
 */
function collect(): void {
  collector ??= makeCollector();
  uncollected = 0;
  due = STEP_BYTES;
  const hasLooked = witness !== undefined && candidate === undefined && witness.deref() === undefined;
  if (!isPausing && !hasLooked) {
    collections++;
    collector.collectYoung();
    grow();
    return;
  }
  const isInVain = !isPausing && collections < ENOUGH;
  if (!isPausing && !isInVain) pause = PAUSE_BYTES;
  isPausing = isInVain;
  collections = 0;
  if (isInVain) {
    due = pause;
    pause = Math.min(pause * 2, LONGEST_PAUSE_BYTES);
    return;
  }
  collector.makeRoom();
  candidate = undefined;
  witness = undefined;
  grow();
}

/** Has a witness made, or sees to it that it becomes old. */
function grow(): void {
  if (witness === undefined) {
    candidate = {};
    witness = new WeakRef(candidate);
    age = 0;
  } else if (candidate !== undefined && ++age > YOUTH) candidate = undefined;
}

interface Collector {
  readonly collectYoung: () => void;
  /** Collects everything in a small heap, and has V8 wait for more than usual before it does so again. */
  readonly makeRoom: () => void;
}

function makeCollector(): Collector {
  const isKnown = Number.parseInt(process.versions.node, 10) <= LATEST_NODE;
  const gc = isKnown && !isTuned() ? hiddenCollector() : undefined;
  if (typeof gc !== "function") return { collectYoung: () => undefined, makeRoom: () => undefined };
  return {
    collectYoung: () =>
      // There is so little to go through that waking other threads for it takes longer than doing it.
      withFlags("--no-parallel-scavenge", "--parallel-scavenge", () => gc({ type: "minor" })),
    makeRoom: () => {
      const { used_heap_size: used } = getHeapStatistics();
      if (used > SMALL_HEAP_BYTES) return;
      // What V8 reckons with until the next time is decided at the end of this one.
      const percent = Math.ceil((ROOM_BYTES / used) * 100);
      withFlags(`--heap-growing-percent=${percent}`, "--heap-growing-percent=0", () => gc());
    },
  };
}

/** Does something with options of V8 that apply to just that. */
function withFlags(flags: string, restored: string, action: () => void): void {
  // What is swept in the background would count as used until then.
  setFlagsFromString(`--no-concurrent-array-buffer-sweeping ${flags}`);
  try {
    action();
  } finally {
    setFlagsFromString(`--concurrent-array-buffer-sweeping ${restored}`);
  }
}

/** True when this program was started with options for V8's collector: then it is left as it is. */
function isTuned(): boolean {
  const options = [process.env["NODE_OPTIONS"], ...process.execArgv].join(" ").replaceAll("_", "-");
  return /--(no-)?(single-threaded|parallel-scavenge|concurrent-array-buffer-sweeping|heap-growing)/.test(options);
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
