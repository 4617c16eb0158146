import { type WorkerMetadata, workerFromJson } from "../worker-metadata.ts";

/**
 * How long workers stay after the registry lost its data, in milliseconds. Their publishers come back within the
 * longest pause between tries, and write them again.
 */
const HOLD_MS = 15_000;

/** The entries of a registry, by worker. */
export class RegistryEntries {
  /** Invalid entries have no worker. */
  readonly #entries = new Map<string, { readonly text: string; readonly worker: WorkerMetadata | undefined }>();
  readonly #changed: (uid: string) => void;
  /** The data that they were last read from. */
  #data: string | undefined;
  /** Entries that the registry has lost and that may come back. */
  readonly #held = new Set<string>();
  #release: NodeJS.Timeout | undefined;
  #ignored = 0;

  /** `changed` is called with each uid whose entry has come, changed or gone. */
  constructor(changed: (uid: string) => void) {
    this.#changed = changed;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** How many entries are invalid. */
  get ignored(): number {
    return this.#ignored;
  }

  /** The worker of a uid, if it has a valid entry. */
  worker(uid: string): WorkerMetadata | undefined {
    return this.#entries.get(uid)?.worker;
  }

  workers(): WorkerMetadata[] {
    return Array.from(this.#entries.values(), ({ worker }) => worker).filter((worker) => worker !== undefined);
  }

  /**
   * These are all entries of the registry, the text of each by its uid. `data` differs from the last one when the
   * registry has lost its data.
   */
  replace(all: ReadonlyMap<string, string>, data: string): void {
    const isOther = this.#data !== undefined && this.#data !== data;
    this.#data = data;
    const missing = Array.from(this.#entries.keys()).filter((uid) => !all.has(uid));
    if (isOther) for (const uid of missing) this.#held.add(uid);
    for (const uid of missing) if (!this.#held.has(uid)) this.change(uid, undefined);
    for (const [uid, text] of all) this.change(uid, text);
    if (isOther) this.pause();
    if (this.#held.size > 0) this.#release ??= setTimeout(() => this.#releaseHeld(), HOLD_MS).unref();
  }

  /** The registry cannot be reached: lost entries cannot be written again until it is back. */
  pause(): void {
    clearTimeout(this.#release);
    this.#release = undefined;
  }

  /** One entry has changed; `undefined` when it is gone. */
  change(uid: string, text: string | undefined): void {
    this.#held.delete(uid);
    if (text === undefined) this.#entries.delete(uid);
    else if (this.#entries.get(uid)?.text === text) return;
    else this.#entries.set(uid, { text, worker: this.parse(uid, text) });
    this.#changed(uid);
  }

  /** Reads an entry. Counts it if it is invalid. */
  parse(uid: string, text: string): WorkerMetadata | undefined {
    try {
      const { worker } = workerFromJson(JSON.parse(text));
      if (worker?.uid === uid) return worker;
    } catch {
      // Data of another program under the same prefix.
    }
    this.#ignored++;
    return undefined;
  }

  /** Drops everything without calling `changed`. */
  clear(): void {
    this.pause();
    this.#entries.clear();
    this.#held.clear();
    this.#data = undefined;
  }

  #releaseHeld(): void {
    this.#release = undefined;
    for (const uid of Array.from(this.#held)) this.change(uid, undefined);
  }
}
