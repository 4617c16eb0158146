import type { KeptShare, ShareNotice, ShareOrder } from "../shared/index.ts";

/**
 * How long a task may block the thread that gets a value before another thread that waits for it is asked too, in
 * milliseconds.
 */
const PATIENCE_MS = 1000;

/** A shared value of the process: a thread is getting it, or the process has it. */
interface Share {
  readonly bytes: number;
  /** Once the process has it: the time of its last use, in milliseconds since the epoch. */
  use: Float64Array | undefined;
  kept: KeptShare | undefined;
  /** The thread that is getting it. */
  fetcher: number;
  /** Threads that wait for it. */
  waiting: readonly number[];
  /** Threads that have it. */
  keepers: readonly number[];
}

const NOBODY: readonly number[] = [];

/**
 * The shared values of a worker process. Decides which task thread gets one from its caller, hands it to the others,
 * and drops the least recently used when there are too many. It lives in the gRPC thread because that thread always
 * responds.
 */
export class ProcessShares {
  readonly #budget: number;
  readonly #tell: (lane: number, order: ShareOrder) => void;
  readonly #shares = new Map<string, Share>();
  /** When each thread last showed that no task blocks it, in milliseconds since the epoch. */
  readonly #pulses = new Map<number, Float64Array>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param budget - most bytes that are kept */
  constructor(budget: number, tell: (lane: number, order: ShareOrder) => void) {
    this.#budget = budget;
    this.#tell = tell;
  }

  /** Bytes of the values that the process has. */
  get bytes(): number {
    return this.#bytes;
  }

  hear(lane: number, notice: ShareNotice): void {
    switch (notice.notice) {
      case "pulse":
        this.#pulses.set(lane, new Float64Array(notice.pulse));
        return;
      case "want":
        return this.#want(lane, notice.hash, notice.bytes);
      case "have":
        return this.#have(lane, notice.hash, notice.kept);
      case "failed":
        return this.#failed(lane, notice.hash);
      case "dropped":
        if (this.#shares.get(notice.hash)?.kept !== undefined) this.#drop(notice.hash);
    }
  }

  /** A thread is gone. Its values remain. */
  lost(lane: number): void {
    for (const [hash, share] of this.#shares) {
      share.keepers = without(share.keepers, lane);
      this.#failed(lane, hash);
    }
  }

  #want(lane: number, hash: string, bytes: number): void {
    const share = this.#shares.get(hash);
    if (share === undefined) {
      this.#add(hash, bytes, lane);
      this.#tell(lane, { kind: "share", order: "fetch", hash });
    } else if (share.kept === undefined) {
      share.waiting = including(share.waiting, lane);
      this.#watch();
    } else {
      share.keepers = including(share.keepers, lane);
      this.#tell(lane, { kind: "share", order: "take", hash, kept: share.kept });
    }
  }

  #have(lane: number, hash: string, kept: KeptShare): void {
    let share = this.#shares.get(hash);
    if (share === undefined) {
      // The value was dropped, but that thread still uses it.
      share = this.#add(hash, kept.payload.length, lane);
    }
    share.keepers = including(share.keepers, lane);
    share.waiting = without(share.waiting, lane);
    if (share.kept !== undefined) return;
    // Only a value that has arrived displaces others, not one that was only announced.
    this.#makeRoom(share.bytes);
    this.#bytes += share.bytes;
    share.kept = kept;
    share.use = new Float64Array(kept.use);
    for (const other of share.waiting) {
      share.keepers = including(share.keepers, other);
      this.#tell(other, { kind: "share", order: "take", hash, kept });
    }
    share.waiting = NOBODY;
  }

  /** The thread that should get the value cannot. Asks the next one that waits for it. */
  #failed(lane: number, hash: string): void {
    const share = this.#shares.get(hash);
    if (share === undefined || share.kept !== undefined) return;
    share.waiting = without(share.waiting, lane);
    if (share.fetcher === lane && !this.#pass(hash, share)) this.#remove(hash, share);
  }

  /** Asks the next thread. It keeps waiting too: the earlier thread may still be faster. */
  #pass(hash: string, share: Share): boolean {
    const next = share.waiting.find((lane) => lane !== share.fetcher);
    if (next === undefined) return false;
    share.waiting = including(without(share.waiting, next), next);
    share.fetcher = next;
    this.#tell(next, { kind: "share", order: "fetch", hash });
    return true;
  }

  #add(hash: string, bytes: number, fetcher: number): Share {
    const share: Share = { bytes, use: undefined, kept: undefined, fetcher, waiting: NOBODY, keepers: NOBODY };
    this.#shares.set(hash, share);
    return share;
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#budget) return;
    const kept = [...this.#shares].filter(([, share]) => share.kept !== undefined);
    kept.sort(([, one], [, other]) => (one.use?.[0] ?? 0) - (other.use?.[0] ?? 0));
    for (const [hash] of kept) {
      if (this.#bytes + bytes <= this.#budget) return;
      this.#drop(hash);
    }
  }

  #drop(hash: string): void {
    const share = this.#shares.get(hash);
    if (share === undefined) return;
    this.#remove(hash, share);
    for (const lane of share.keepers) this.#tell(lane, { kind: "share", order: "drop", hash });
  }

  #remove(hash: string, { bytes, kept }: Share): void {
    this.#shares.delete(hash);
    if (kept !== undefined) this.#bytes -= bytes;
  }

  /** Checks whether a task blocks a thread that should get a value while others wait for it. */
  #watch(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      let isAwaited = false;
      for (const [hash, share] of this.#shares) {
        if (share.kept !== undefined || share.waiting.length === 0) continue;
        isAwaited = true;
        if (Date.now() - (this.#pulses.get(share.fetcher)?.[0] ?? 0) >= PATIENCE_MS) this.#pass(hash, share);
      }
      if (isAwaited) this.#watch();
    }, PATIENCE_MS).unref();
  }
}

function including(lanes: readonly number[], lane: number): readonly number[] {
  return lanes.includes(lane) ? lanes : [...lanes, lane];
}

function without(lanes: readonly number[], lane: number): readonly number[] {
  return lanes.includes(lane) ? lanes.filter((each) => each !== lane) : lanes;
}
