import { Timer } from "../../time/index.ts";
import { type ChunkAssembly, LimitExceeded, type UnfinishedWatch } from "../../wire/index.ts";

/** A caller whose payload makes progress at least this often is not slow, in milliseconds. */
const SLOW_MS = 1000;
/** Looks at callers within their time. Time in which this thread was blocked counts as one look at most. */
const LOOKS = 4;
/** What is unfinished is told to other threads in these units, so that integers are enough. */
const UNIT_BYTES = 64 * 1024;

/** A session, as far as it brings payloads in pieces. */
export interface UnfinishedOwner {
  /** Whether it has sent what this thread has not read. */
  isBehind(): boolean;
  /** Ends its connection: it took more than it may. */
  expel(reason: string): void;
}

/** How the unfinished payloads of a thread are set up. */
export interface UnfinishedPayloadsOptions {
  /** Shared by the threads of the worker: an integer for each. */
  readonly memory: SharedArrayBuffer;
  /** The number of this thread. */
  readonly lane: number;
  /** Bytes that may be unfinished in all threads together. */
  readonly maxUnfinishedTotal: number;
  /** How long a caller with unfinished payloads may send no piece of one, in milliseconds. */
  readonly unfinishedTimeout: number;
}

interface Watched {
  readonly owner: UnfinishedOwner;
  /** Pieces that it had sent at the last look, and looks since it sent one. */
  pieces: number;
  looks: number;
}

/**
 * The payloads of all callers of a thread of which pieces are missing. All of them together are limited, so one who brings
 * them slowly must not keep others from bringing theirs: when there is no room, the slowest loses its connection.
 */
export class UnfinishedPayloads {
  readonly #options: UnfinishedPayloadsOptions;
  readonly #counts: Int32Array;
  /** Those with something unfinished. */
  readonly #watched = new Map<ChunkAssembly, Watched>();
  #bytes = 0;
  #timer: Timer | undefined;

  constructor(options: UnfinishedPayloadsOptions) {
    this.#options = options;
    this.#counts = new Int32Array(options.memory);
    // The thread whose place this one takes may have left something.
    this.#tell();
  }

  /** What watches the payloads of a session. */
  of(owner: UnfinishedOwner): UnfinishedWatch {
    return { changed: (assembly, bytes) => this.#changed(assembly, bytes, owner) };
  }

  #changed(assembly: ChunkAssembly, bytes: number, owner: UnfinishedOwner): void {
    this.#bytes += bytes;
    this.#tell();
    if (assembly.size === 0) this.#watched.delete(assembly);
    else if (!this.#watched.has(assembly)) {
      this.#watched.set(assembly, { owner, pieces: assembly.pieces, looks: 0 });
      this.#look();
    }
    if (bytes <= 0) return;
    const { maxUnfinishedTotal } = this.#options;
    while (this.#total > maxUnfinishedTotal) {
      if (this.#expelSlowest(assembly)) continue;
      throw new LimitExceeded(
        "maxUnfinishedTotal",
        maxUnfinishedTotal,
        "bytes of payloads of which pieces are missing, of all callers together",
      );
    }
  }

  /** Bytes in all threads. */
  get #total(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0) * UNIT_BYTES;
  }

  #tell(): void {
    Atomics.store(this.#counts, this.#options.lane, Math.floor(this.#bytes / UNIT_BYTES));
  }

  /** False: nobody but `except` is slow. */
  #expelSlowest(except: ChunkAssembly): boolean {
    let slowest: { readonly assembly: ChunkAssembly; readonly owner: UnfinishedOwner; readonly at: number } | undefined;
    for (const [assembly, { owner }] of this.#watched) {
      const at = assembly.slowestAt;
      if (assembly !== except && (slowest === undefined || at < slowest.at)) slowest = { assembly, owner, at };
    }
    if (slowest === undefined || slowest.at > performance.now() - SLOW_MS) return false;
    const { owner, assembly } = slowest;
    const { maxUnfinishedTotal } = this.#options;
    owner.expel(
      `its payload came slowest while more than ${maxUnfinishedTotal} bytes of payloads of all callers were unfinished ` +
        "(limits.maxUnfinishedTotal)",
    );
    assembly.clear();
    return true;
  }

  /** Looks again and again while something is unfinished. */
  #look(): void {
    if (this.#timer !== undefined) return;
    const { unfinishedTimeout } = this.#options;
    if (unfinishedTimeout === Number.POSITIVE_INFINITY) return;
    this.#timer = new Timer(unfinishedTimeout / LOOKS, () => {
      this.#timer = undefined;
      for (const [assembly, watched] of this.#watched) this.#lookAt(assembly, watched);
      if (this.#watched.size > 0) this.#look();
    }).unref();
  }

  #lookAt(assembly: ChunkAssembly, watched: Watched): void {
    const { owner } = watched;
    if (assembly.pieces !== watched.pieces || owner.isBehind()) {
      watched.pieces = assembly.pieces;
      watched.looks = 0;
    } else if (++watched.looks >= LOOKS) {
      const { unfinishedTimeout } = this.#options;
      owner.expel(
        `no piece of a payload came for ${unfinishedTimeout} ms while others were missing (limits.unfinishedTimeout)`,
      );
      assembly.clear();
    }
  }
}
