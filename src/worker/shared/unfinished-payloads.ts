import { Timer } from "../../time/index.ts";
import { LimitExceeded, Progress, type Unfinished, type UnfinishedWatch } from "../../wire/index.ts";

/** A caller whose payload makes progress at least this often is not slow, in milliseconds. */
const SLOW_MS = 1000;
/** Looks at callers within their time. Time in which this thread was blocked counts as one look at most. */
const LOOKS = 4;

/** A session, as far as it brings payloads and messages in pieces. */
export interface UnfinishedOwner {
  /** Whether it has sent what this thread has not read. */
  isBehind(): boolean;
  /** Ends its connection: it took more than it may. */
  expel(reason: string): void;
}

/** How the unfinished payloads of a thread are set up. */
export interface UnfinishedPayloadsOptions {
  /** Shared by the threads of the worker, the gRPC thread among them: see `unfinishedMemory`. */
  readonly memory: SharedArrayBuffer;
  /** The number of this thread. The gRPC thread has the one after the last task thread. */
  readonly lane: number;
  /** Bytes that may be unfinished in all threads together. */
  readonly maxUnfinishedTotal: number;
  /** How long a caller with something unfinished may send no piece of any, in milliseconds. */
  readonly unfinishedTimeout: number;
}

/**
 * Memory in which the task threads of a worker and its gRPC thread tell each other how much is unfinished, and how often there
 * was no room.
 */
export function unfinishedMemory(taskThreads: number): SharedArrayBuffer {
  return new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT * (taskThreads + 2));
}

/** A message of a caller that has not come whole. */
class UnfinishedMessage implements Unfinished {
  pieces = 0;
  #bytes = 0;
  #progress = new Progress();

  get size(): number {
    return this.#bytes > 0 ? 1 : 0;
  }

  get slowestAt(): number {
    return this.#progress.at;
  }

  add(bytes: number, filled: number): void {
    if (this.#bytes === 0) this.#progress = new Progress();
    this.#bytes += bytes;
    this.pieces++;
    this.#progress.reached(filled);
  }

  /** Whoever holds the message lets go of it when its connection ends. */
  clear(): void {}
}

interface Watched {
  readonly owner: UnfinishedOwner;
  /** Pieces that it had sent at the last look, and looks since it sent one. */
  pieces: number;
  looks: number;
}

/**
 * The payloads and messages of all callers of a thread of which pieces are missing. All of them together are limited, in all
 * threads, so one who brings them slowly must not keep others from bringing theirs: when there is no room, the slowest loses
 * its connection; within a second, if it is in another thread.
 */
export class UnfinishedPayloads {
  readonly #options: UnfinishedPayloadsOptions;
  /** Unfinished bytes in each thread. */
  readonly #counts: Float64Array;
  /** How often there was no room, in all threads. */
  readonly #refusals: Float64Array;
  #seenRefusals = 0;
  /** Those with something unfinished. */
  readonly #watched = new Map<Unfinished, Watched>();
  #bytes = 0;
  #timer: Timer | undefined;
  #reliefTimer: Timer | undefined;

  constructor(options: UnfinishedPayloadsOptions) {
    this.#options = options;
    const all = new Float64Array(options.memory);
    this.#counts = all.subarray(0, -1);
    this.#refusals = all.subarray(-1);
    // The thread whose place this one takes may have left something.
    this.#tell();
  }

  /** What watches the payloads of a session. */
  of(owner: UnfinishedOwner): UnfinishedWatch {
    return { changed: (source, bytes) => this.#changed(source, bytes, owner) };
  }

  /**
   * What is to be told of a message of a session that has not come whole: how many more bytes of memory it takes, or fewer, and
   * how many bytes of it have come.
   */
  message(owner: UnfinishedOwner): (bytes: number, filled: number) => void {
    const message = new UnfinishedMessage();
    return (bytes, filled) => {
      message.add(bytes, filled);
      try {
        this.#changed(message, bytes, owner);
      } catch (error) {
        if (!(error instanceof LimitExceeded)) throw error;
        owner.expel(error.message);
      }
    };
  }

  #changed(source: Unfinished, bytes: number, owner: UnfinishedOwner): void {
    this.#bytes += bytes;
    this.#tell();
    if (source.size === 0) this.#watched.delete(source);
    else if (!this.#watched.has(source)) {
      this.#watched.set(source, { owner, pieces: source.pieces, looks: 0 });
      this.#look();
      this.#relieve();
    }
    if (bytes <= 0) return;
    const { maxUnfinishedTotal } = this.#options;
    while (this.#total > maxUnfinishedTotal) {
      if (this.#expelSlowest(source)) continue;
      this.#refusals[0] = (this.#refusals[0] ?? 0) + 1;
      throw new LimitExceeded(
        "maxUnfinishedTotal",
        maxUnfinishedTotal,
        "bytes of incomplete payloads and messages of all callers together",
      );
    }
  }

  /** Bytes in all threads. */
  get #total(): number {
    return this.#counts.reduce((sum, bytes) => sum + bytes, 0);
  }

  #tell(): void {
    this.#counts[this.#options.lane] = this.#bytes;
  }

  /** While something is unfinished: lets the slowest go if there was no room in another thread. */
  #relieve(): void {
    if (this.#reliefTimer !== undefined) return;
    this.#seenRefusals = this.#refusals[0] ?? 0;
    this.#reliefTimer = new Timer(SLOW_MS, () => {
      this.#reliefTimer = undefined;
      if (this.#refusals[0] !== this.#seenRefusals) this.#expelSlowest();
      if (this.#watched.size > 0) this.#relieve();
    }).unref();
  }

  /** False: nobody but `except` is slow. */
  #expelSlowest(except?: Unfinished): boolean {
    let slowest: { readonly source: Unfinished; readonly owner: UnfinishedOwner; readonly at: number } | undefined;
    for (const [source, { owner }] of this.#watched) {
      const at = source.slowestAt;
      if (source !== except && (slowest === undefined || at < slowest.at)) slowest = { source, owner, at };
    }
    if (slowest === undefined || slowest.at > performance.now() - SLOW_MS) return false;
    const { owner, source } = slowest;
    const { maxUnfinishedTotal } = this.#options;
    this.#watched.delete(source);
    owner.expel(
      `its payload or message came slowest while more than ${maxUnfinishedTotal} bytes of all callers were unfinished ` +
        "(limits.maxUnfinishedTotal)",
    );
    source.clear();
    return true;
  }

  /** Looks again and again while something is unfinished. */
  #look(): void {
    if (this.#timer !== undefined) return;
    const { unfinishedTimeout } = this.#options;
    if (unfinishedTimeout === Number.POSITIVE_INFINITY) return;
    this.#timer = new Timer(unfinishedTimeout / LOOKS, () => {
      this.#timer = undefined;
      for (const [source, watched] of this.#watched) this.#lookAt(source, watched);
      if (this.#watched.size > 0) this.#look();
    }).unref();
  }

  #lookAt(source: Unfinished, watched: Watched): void {
    const { owner } = watched;
    if (source.pieces !== watched.pieces || owner.isBehind()) {
      watched.pieces = source.pieces;
      watched.looks = 0;
    } else if (++watched.looks >= LOOKS) {
      const { unfinishedTimeout } = this.#options;
      owner.expel(
        `no piece of an incomplete payload or message came for ${unfinishedTimeout} ms (limits.unfinishedTimeout)`,
      );
      source.clear();
    }
  }
}
