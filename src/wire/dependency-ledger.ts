import { types } from "node:util";
import { asError } from "../checks/index.ts";
import { contentHash, type Dependency, type PlainData } from "../functions/index.ts";
import type { BatchWriter } from "./batch-writer.ts";
import { type CompleteLimits, DEFAULT_LIMITS, LimitExceeded } from "./connection-limits.ts";
import type { FrameReader } from "./frame-reader.ts";
import { MalformedFrame } from "./frame-reader.ts";
import { writeFrame } from "./frame-writer.ts";
import { DependencyField } from "./request-frames.ts";

const NONE: readonly number[] = Object.freeze([]);

/** Remembers which dependencies a session has sent, and under which number. */
export class SentDependencies {
  readonly #numbers = new Map<string, number>();
  /** The hashes of those that the peer asks for when it needs them. */
  readonly #kept = new Map<number, string>();
  #last = 0;

  /** Numbers for a payload's dependencies. Those that the peer has not seen are written first. */
  announce(writer: BatchWriter, frame: number, dependencies: readonly Dependency[]): readonly number[] {
    if (dependencies.length === 0) return NONE;
    return dependencies.map(({ hash, data, source }) => {
      const known = this.#numbers.get(hash);
      if (known !== undefined) return known;
      const number = ++this.#last;
      this.#numbers.set(hash, number);
      if (source !== undefined) this.#kept.set(number, hash);
      writeFrame(writer, frame, [undefined, number, hash, Buffer.from(JSON.stringify(data), "utf8")]);
      return number;
    });
  }

  /** Whether it has announced values that the peer may ask for. */
  get hasValues(): boolean {
    return this.#kept.size > 0;
  }

  /** The hash of the value that was announced under this number, if the peer may ask for it. */
  hashOf(number: number): string | undefined {
    return this.#kept.get(number);
  }

  /** Forgets a value that is gone. Returns its number if it was announced. */
  forget(hash: string): number | undefined {
    const number = this.#numbers.get(hash);
    if (number === undefined || !this.#kept.delete(number)) return undefined;
    this.#numbers.delete(hash);
    return number;
  }
}

/** A value that the peer of a session has announced, and that it sends on request. */
export interface AnnouncedValue {
  readonly hash: string;
  /** The object that stands for the value and keeps it alive, or a promise of it. Rejects when the value is not available. */
  ready(): object | Promise<object>;
}

/** Takes a dependency that has arrived. Returns a promise if it has to be loaded first. */
export type Acceptance = (dependency: Dependency) => void | Promise<void>;

/** Recognises a value that its peer sends on request. Throws for a malformed announcement. */
export type Announcement = (dependency: Dependency, number: number) => AnnouncedValue | undefined;

/** Bytes of the longest number of a dependency. */
const LONGEST_NUMBER_BYTES = 5;
/** Most bytes of an announcement of a value. It is read at once, while code is read when it is needed. */
const MOST_ANNOUNCEMENT_BYTES = 1024 * 1024;

/** Code or a module that nobody has needed yet, as it arrived. */
interface UnreadDependency {
  readonly hash: string;
  readonly text: Uint8Array;
}

/**
 * Remembers the dependencies that a session has received. They are loaded only when something that needs them is used.
 * So a peer that may not run tasks cannot have code loaded.
 */
export class ReceivedDependencies {
  readonly #accept: Acceptance;
  readonly #announce: Announcement;
  /** Values to ask for, and code that is unread or being loaded; undefined for loaded code. */
  readonly #known = new Map<number, UnreadDependency | AnnouncedValue | Promise<void> | undefined>();
  /** The hashes of the values, and how many bytes announced them. */
  readonly #values = new Map<string, number>();
  readonly #limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes">;
  #bytes = 0;

  constructor(
    accept: Acceptance,
    limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes"> = DEFAULT_LIMITS,
    announce: Announcement = () => undefined,
  ) {
    this.#accept = accept;
    this.#limits = limits;
    this.#announce = announce;
  }

  /**
   * Adds the current dependency frame of the reader. Throws `LimitExceeded` when there are too many. Throws
   * `MalformedFrame` when content and hash do not match: other sessions use the content that they find under that hash.
   * Code and modules are read only when they are needed.
   */
  add(frame: FrameReader): void {
    const { maxAnnouncements, maxAnnouncedBytes } = this.#limits;
    const size = frame.end(DependencyField.data) - frame.start(DependencyField.data);
    this.#bytes += size;
    if (this.#known.size >= maxAnnouncements) {
      throw new LimitExceeded("maxAnnouncements", maxAnnouncements, "pieces of code announced");
    }
    if (this.#bytes > maxAnnouncedBytes) {
      throw new LimitExceeded("maxAnnouncedBytes", maxAnnouncedBytes, "bytes of code announced");
    }
    const number = frame.integer(DependencyField.number);
    const hash = frame.text(DependencyField.hash);
    const bytes = frame.view(DependencyField.data);
    if (contentHash(bytes) === hash) {
      // A copy: the message may be much larger.
      this.#known.set(number, { hash, text: Uint8Array.from(bytes) });
      return;
    }
    // The hash of a value is the hash of its content, which has not arrived yet.
    const value = size > MOST_ANNOUNCEMENT_BYTES ? undefined : this.#announce({ hash, data: parse(bytes) }, number);
    if (value === undefined) throw new MalformedFrame(`dependency ${number} does not match its hash`);
    this.#values.set(hash, size);
    this.#known.set(number, value);
  }

  /** The value that was announced under this number, if any. */
  valueOf(number: number): AnnouncedValue | undefined {
    const known = this.#known.get(number);
    return isValue(known) ? known : undefined;
  }

  /** Forgets a value that the peer no longer has. Returns how many bytes announced it. */
  forget(number: number): number {
    const value = this.valueOf(number);
    if (value === undefined) return 0;
    const size = this.#values.get(value.hash) ?? 0;
    this.#known.delete(number);
    this.#values.delete(value.hash);
    this.#bytes -= size;
    return size;
  }

  /** Whether the peer has announced the value of that hash. */
  hasValue(hash: string): boolean {
    return this.#values.has(hash);
  }

  /** Whether there are values among these that have to be asked for. */
  holdsValues(numbers: readonly number[]): boolean {
    return this.#values.size > 0 && numbers.some((number) => this.valueOf(number) !== undefined);
  }

  /** The numbers in a field of the reader's current frame. Throws for a dependency that was never sent. */
  needs(frame: FrameReader, field: number): readonly number[] {
    if (!frame.has(field)) return NONE;
    if (frame.end(field) - frame.start(field) > this.#known.size * LONGEST_NUMBER_BYTES) {
      throw new MalformedFrame("more dependencies are needed than were sent");
    }
    const numbers = frame.integers(field);
    for (const number of numbers) {
      if (!this.#known.has(number)) throw new MalformedFrame(`dependency ${number} was never sent`);
    }
    return numbers;
  }

  /** Undefined when all are here; otherwise a promise that resolves when they are, and rejects when one is not available. */
  ready(numbers: readonly number[]): Promise<unknown> | undefined {
    const held: object[] = [];
    const missing = this.#missing(numbers, held);
    if (missing.length === 0) return undefined;
    // Many tasks may wait for one dependency.
    return numbers.length === 1 ? missing[0] : this.#allReady(numbers, missing, held);
  }

  /** Holds the values that have arrived until the others have: they could be dropped meanwhile. */
  async #allReady(numbers: readonly number[], first: Promise<object | void>[], held: object[]): Promise<unknown> {
    for (let missing = first; missing.length > 0; missing = this.#missing(numbers, held)) {
      held.push(...(await Promise.all(missing)).filter((value) => value !== undefined));
    }
    return held;
  }

  #missing(numbers: readonly number[], held: object[]): Promise<object | void>[] {
    const missing: Promise<object | void>[] = [];
    for (const number of numbers) {
      const known = this.#known.get(number);
      const pending = isValue(known) ? known.ready() : this.#load(number, known);
      if (isPromise(pending)) missing.push(pending);
      else if (pending !== undefined) held.push(pending);
    }
    return missing;
  }

  #load(number: number, known: UnreadDependency | Promise<void> | undefined): Promise<void> | undefined {
    if (known === undefined || isPromise(known)) return known;
    let loading: void | Promise<void>;
    try {
      loading = this.#accept({ hash: known.hash, data: parse(known.text) });
    } catch (error) {
      loading = Promise.reject(asError(error));
    }
    if (loading === undefined) {
      this.#known.set(number, undefined);
      return undefined;
    }
    this.#known.set(number, loading);
    loading.then(
      () => this.#known.set(number, undefined),
      // The tasks that need the dependency get the failure.
      () => undefined,
    );
    return loading;
  }
}

function isValue(known: object | undefined): known is AnnouncedValue {
  return known !== undefined && "ready" in known;
}

function isPromise<T>(value: T): value is Extract<T, Promise<unknown>> {
  return types.isPromise(value);
}

/** Throws when `text` is not JSON. */
function parse(text: Uint8Array): PlainData {
  try {
    return JSON.parse(Buffer.from(text.buffer, text.byteOffset, text.length).toString("utf8")) as PlainData;
  } catch (cause) {
    throw new MalformedFrame("a dependency is not valid JSON", { cause });
  }
}
