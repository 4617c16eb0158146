import { types } from "node:util";
import { asError } from "../checks/index.ts";
import { contentHash, type Dependency, isRecord, type PlainData } from "../functions/index.ts";
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

  /** Numbers for a payload's dependencies. Those that the peer has not seen are written first. */
  announce(writer: BatchWriter, frame: number, dependencies: readonly Dependency[]): readonly number[] {
    if (dependencies.length === 0) return NONE;
    return dependencies.map((dependency) => {
      const known = this.#numbers.get(dependency.hash);
      if (known !== undefined) return known;
      const number = this.#numbers.size + 1;
      this.#numbers.set(dependency.hash, number);
      writeFrame(writer, frame, [
        undefined,
        number,
        dependency.hash,
        Buffer.from(JSON.stringify(dependency.data), "utf8"),
      ]);
      return number;
    });
  }
}

/** Takes a dependency that has arrived. Returns a promise if it has to be loaded first. */
export type Acceptance = (dependency: Dependency) => void | Promise<void>;

/** Bytes of the longest number of a dependency. */
const LONGEST_NUMBER_BYTES = 5;

/**
 * Remembers the dependencies that a session has received. They are loaded when something that needs them is used, and not
 * before: a peer that may run nothing has nothing loaded.
 */
export class ReceivedDependencies {
  readonly #accept: Acceptance;
  /** What has not been asked for, or is being loaded; nothing for what is loaded. */
  readonly #known = new Map<number, Dependency | Promise<void> | undefined>();
  readonly #limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes">;
  #bytes = 0;

  constructor(
    accept: Acceptance,
    limits: Pick<CompleteLimits, "maxAnnouncements" | "maxAnnouncedBytes"> = DEFAULT_LIMITS,
  ) {
    this.#accept = accept;
    this.#limits = limits;
  }

  /**
   * Takes the dependency frame that the reader stands on. Throws `LimitExceeded` when there are too many, and
   * `MalformedFrame` for one whose content is not what its hash says: others use what they find under that hash.
   */
  add(frame: FrameReader): void {
    const { maxAnnouncements, maxAnnouncedBytes } = this.#limits;
    this.#bytes += frame.end(DependencyField.data) - frame.start(DependencyField.data);
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
    if (isFoundByHash(data) && contentHash(frame.view(DependencyField.data)) !== hash) {
      throw new MalformedFrame(`dependency ${number} has another content than its hash says`);
    }
    this.#known.set(number, { hash, data });
  }

  /** The numbers in a field of the frame that the reader stands on. Throws for one that was never sent. */
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

  /** Nothing when all are loaded; otherwise a promise of that, which rejects when one of them cannot be loaded. */
  ready(numbers: readonly number[]): Promise<void> | undefined {
    let loading: Promise<void>[] | undefined;
    for (const number of numbers) {
      const pending = this.#load(number);
      if (pending !== undefined) {
        loading ??= [];
        loading.push(pending);
      }
    }
    return loading === undefined ? undefined : Promise.all(loading).then(() => undefined);
  }

  #load(number: number): Promise<void> | undefined {
    const known = this.#known.get(number);
    if (known === undefined || types.isPromise(known)) return known;
    let loading: void | Promise<void>;
    try {
      loading = this.#accept(known);
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
      // Whoever needs the dependency gets the failure.
      () => undefined,
    );
    return loading;
  }
}

/** Whether others find it under its hash: code and modules. */
function isFoundByHash(data: PlainData): boolean {
  const kind = isRecord(data) ? data["kind"] : undefined;
  return kind === "code" || kind === "module";
}
