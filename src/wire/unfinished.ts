/** Something that comes in pieces makes progress when so many more bytes of it have arrived. */
const PROGRESS_BYTES = 1024 * 1024;

/** When something that comes in pieces last made progress. */
export class Progress {
  /** On the clock of `performance.now`. */
  at = performance.now();
  #bytes = 0;

  /** So many bytes of it have arrived in all. */
  reached(bytes: number): void {
    if (bytes - this.#bytes < PROGRESS_BYTES) return;
    this.at = performance.now();
    this.#bytes = bytes;
  }
}

/** What a peer has begun to send, and of which pieces are missing. */
export interface Unfinished {
  /** How many things are unfinished. */
  readonly size: number;
  /** Pieces that have arrived so far. */
  readonly pieces: number;
  /** When the slowest of them last made progress, on the clock of `performance.now`; `Infinity` when there is none. */
  readonly slowestAt: number;
  /** Forgets what has arrived. */
  clear(): void;
}

/** Told of what is unfinished in a session, together with that of others. */
export interface UnfinishedWatch {
  /** What is unfinished takes more bytes of memory; negative: it is complete, or dropped. May throw `LimitExceeded`. */
  changed(source: Unfinished, bytes: number): void;
}
