import { asError } from "../checks/index.ts";
import type { Dependency, PlainData } from "../functions/index.ts";
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

/** A value that a session has announced, and that its peer sends when it is asked to. */
export interface AnnouncedValue {
  readonly hash: string;
  /** What stands for the value and keeps it here, or a promise of that. Rejects when it cannot be had. */
  ready(): object | Promise<object>;
}

/** Takes a dependency that has arrived. Returns a promise if it has to be loaded first, or a value to be asked for. */
export type Acceptance = (dependency: Dependency, number: number) => void | Promise<void> | AnnouncedValue;

/** What has become of a dependency: nothing once it is loaded. */
type Received = Promise<void> | AnnouncedValue | undefined;

/** Remembers the dependencies that a session has received, and those that are still being loaded. */
export class ReceivedDependencies {
  readonly #accept: Acceptance;
  readonly #known = new Map<number, Received>();
  /** The hashes of the values that can be asked for, and how many bytes announced them. */
  readonly #values = new Map<string, number>();
  readonly #limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes">;
  #bytes = 0;

  constructor(
    accept: Acceptance,
    limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes"> = DEFAULT_LIMITS,
  ) {
    this.#accept = accept;
    this.#limits = limits;
  }

  /** Takes the dependency frame that the reader stands on. Throws `LimitExceeded` when there are too many. */
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
    let data: PlainData;
    try {
      data = JSON.parse(frame.text(DependencyField.data)) as PlainData;
    } catch (cause) {
      throw new MalformedFrame(`dependency ${number} is not readable`, { cause });
    }
    let loading: void | Received;
    try {
      loading = this.#accept({ hash, data }, number);
    } catch (error) {
      loading = Promise.reject(asError(error));
    }
    this.#known.set(number, loading ?? undefined);
    if (!(loading instanceof Promise)) {
      if (loading !== undefined) this.#values.set(hash, size);
      return;
    }
    // Whoever needs the dependency gets the failure. Perhaps nobody does.
    loading.catch(() => undefined);
    loading.then(
      () => this.#known.set(number, undefined),
      () => undefined,
    );
  }

  /** The value that was announced under this number, if one was. */
  valueOf(number: number): AnnouncedValue | undefined {
    const known = this.#known.get(number);
    return known instanceof Promise ? undefined : known;
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

  /** Whether there are values among these that have to be asked for. Throws for one that was never sent. */
  holdsValues(numbers: readonly number[]): boolean {
    return numbers.some((number) => {
      const known = this.#get(number);
      return known !== undefined && !(known instanceof Promise);
    });
  }

  /** Nothing when all are here; otherwise a promise of that, which rejects when one of them cannot be had. */
  ready(numbers: readonly number[]): Promise<unknown> | undefined {
    const held: object[] = [];
    const missing = this.#missing(numbers, held);
    return missing.length === 0 ? undefined : this.#allReady(numbers, missing, held);
  }

  /** What has come is held until the rest has: it could be dropped again meanwhile. */
  async #allReady(numbers: readonly number[], first: Promise<object | void>[], held: object[]): Promise<unknown> {
    for (let missing = first; missing.length > 0; missing = this.#missing(numbers, held)) {
      held.push(...(await Promise.all(missing)).filter((value) => value !== undefined));
    }
    return held;
  }

  #missing(numbers: readonly number[], held: object[]): Promise<object | void>[] {
    const missing: Promise<object | void>[] = [];
    for (const number of numbers) {
      const known = this.#get(number);
      const pending = known instanceof Promise ? known : known?.ready();
      if (pending instanceof Promise) missing.push(pending);
      else if (pending !== undefined) held.push(pending);
    }
    return missing;
  }

  #get(number: number): Received {
    const known = this.#known.get(number);
    if (known === undefined && !this.#known.has(number)) {
      throw new MalformedFrame(`dependency ${number} was never sent`);
    }
    return known;
  }
}
