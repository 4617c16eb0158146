import { messageOf } from "../../checks/index.ts";
import { SerializationError } from "../../errors.ts";
import type { Dependency } from "../../functions/index.ts";
import { payloadFiles } from "../../host/index.ts";
import { receivedContent, SHARED, SharedContent } from "../../sharing/index.ts";
import { type PayloadSource, readSharedPayload } from "../../values/index.ts";
import { type AnnouncedValue, MalformedFrame, type Payload, type PayloadStore } from "../../wire/index.ts";
import type { KeptShare, ShareNotice, ShareOrder } from "../shared/index.ts";

/** A thread may read a value at this pace or faster. Only after that time another thread reads it too. */
const LEAST_BYTES_PER_MS = 20_000;

/** How often a thread shows, while it waits for a value, that no task blocks it, in milliseconds. */
const PULSE_MS = 250;

/**
 * How long to wait for a caller that was asked for a value before other callers that have it are asked too, in
 * milliseconds.
 */
const ANSWER_MS = 5000;

/** Longest run without a turn of the event loop while the values of a gone caller are released, in milliseconds. */
const SLICE_MS = 2;
/** Values that are released between two looks at the clock. */
const PER_LOOK = 64;

/** The part of a session that shared values use. */
export interface ShareSession {
  /** Asks its caller for a value. */
  wantShared(number: number, withoutFile: boolean): void;
}

/** The answer of a caller: where the value is. */
export type ShareAnswer =
  | { readonly file: string; readonly length: number; readonly store: PayloadStore }
  | { readonly payload: Payload }
  | "missing";

/** A value that a session has announced. */
export class AnnouncedShare implements AnnouncedValue {
  readonly session: ShareSession;
  readonly number: number;
  readonly hash: string;
  readonly bytes: number;
  /** Hashes of the values that decoding it needs. */
  readonly inner: readonly string[];
  readonly #shares: ThreadShares;

  constructor(shares: ThreadShares, session: ShareSession, number: number, { hash, data }: Dependency) {
    const { bytes, inner } = readAnnouncement(data);
    this.#shares = shares;
    this.session = session;
    this.number = number;
    this.hash = hash;
    this.bytes = bytes;
    this.inner = inner;
  }

  ready(): object | Promise<object> {
    return this.#shares.get(this);
  }
}

/** A value that tasks of this thread wait for. */
interface PendingShare {
  /** Callers that can send it. The first one is asked if this thread should get it. There may be very many. */
  readonly announced: Set<AnnouncedShare>;
  /** Callers that have been asked, by their sessions; empty unless this thread should get it. */
  readonly asked: Map<ShareSession, AnnouncedShare>;
  /** When the first caller was asked. */
  askedAt: number;
  readonly promise: Promise<SharedContent>;
  readonly resolve: (content: SharedContent) => void;
  readonly reject: (error: Error) => void;
}

/** How the shared values of a thread are set up. */
export interface ThreadSharesOptions {
  /** Bytes of shared values that the process keeps. */
  readonly budget: number;
  readonly tell: (notice: ShareNotice) => void;
  /** A value is not kept any more. Nothing else should keep it. */
  readonly dropped: () => void;
}

/** Whether a dependency is a shared value. */
export function isShare({ data }: Dependency): boolean {
  return typeof data === "object" && data !== null && "kind" in data && data.kind === SHARED;
}

/**
 * The shared values of a task thread. The values that it keeps are in memory that it shares with the other threads of
 * the process. The gRPC thread decides which values are kept, and which thread gets a new one from its caller.
 */
export class ThreadShares {
  readonly #options: ThreadSharesOptions;
  readonly #kept = new Map<string, { readonly content: SharedContent; readonly use: Float64Array }>();
  /** The memory of each value that is in use, kept or not. */
  readonly #memory = new WeakMap<SharedContent, KeptShare>();
  readonly #pending = new Map<string, PendingShare>();
  /**
   * Shows, while a caller has been asked for a value, that no task blocks this thread. One for all values: there may be
   * very many.
   */
  readonly #pulse = new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT);
  /** Whether the gRPC thread knows the memory of the pulse. */
  #hasPulse = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ThreadSharesOptions) {
    this.#options = options;
  }

  /** A session has announced a value. Throws for an invalid announcement. */
  announce(session: ShareSession, number: number, dependency: Dependency): AnnouncedShare {
    return new AnnouncedShare(this, session, number, dependency);
  }

  /** The value, or a promise of it. */
  get(announced: AnnouncedShare): SharedContent | Promise<SharedContent> {
    const { hash, bytes } = announced;
    const kept = this.#kept.get(hash);
    if (kept !== undefined) {
      kept.use[0] = timeOfUse();
      kept.content.link();
      return kept.content;
    }
    if (bytes > this.#options.budget) return Promise.reject(this.#tooLarge(bytes));
    const content = receivedContent(hash);
    const memory = content === undefined ? undefined : this.#memory.get(content);
    if (content !== undefined && memory !== undefined) {
      // The value was dropped, but some task still uses it.
      this.#options.tell({ kind: "share", notice: "have", hash, kept: memory });
      this.#keep(content, memory);
      return content;
    }
    let pending = this.#pending.get(hash);
    if (pending === undefined) {
      pending = makePending();
      this.#pending.set(hash, pending);
      if (!this.#hasPulse) this.#options.tell({ kind: "share", notice: "pulse", pulse: this.#pulse });
      this.#hasPulse = true;
      this.#options.tell({ kind: "share", notice: "want", hash, bytes });
    }
    pending.announced.add(announced);
    return pending.promise;
  }

  /** Handles an order of the gRPC thread. */
  obey(order: ShareOrder): void {
    const { hash } = order;
    const pending = this.#pending.get(hash);
    if (order.order === "drop") {
      this.#kept.delete(hash);
      this.#options.dropped();
    } else if (order.order === "fetch") this.#fetch(hash, pending);
    else if (pending !== undefined) {
      const inner = firstOf(pending)?.inner ?? [];
      this.#arrived(
        hash,
        SharedContent.adopt(order.kept.payload, { hash, inner }, storedAs(order.kept.file)),
        order.kept,
      );
    }
  }

  /** Handles the answer of a caller. Throws `MalformedFrame` for a value that was never announced, or of another size. */
  answer(announced: AnnouncedValue | undefined, answer: ShareAnswer): void {
    if (!(announced instanceof AnnouncedShare))
      throw new MalformedFrame("a shared value was sent that was never announced");
    const { hash, bytes, inner } = announced;
    const pending = this.#pending.get(hash);
    // Another thread or another caller may have been faster.
    if (pending?.asked.get(announced.session) !== announced) return;
    if (answer === "missing") {
      this.#fails(hash, pending, announced, "its owner has disposed of it or lost it");
      return;
    }
    const length = "file" in answer ? answer.length : answer.payload.length;
    if (length !== bytes) throw new MalformedFrame(`a shared value has ${length} bytes, and ${bytes} were announced`);
    let payload: KeptShare["payload"];
    // Reading it takes a while, in which the thread cannot show a pulse.
    this.#beat(bytes / LEAST_BYTES_PER_MS);
    try {
      payload = "file" in answer ? readFile(answer.store, answer.file, length) : fromMemory(answer.payload);
    } catch (error) {
      if ("file" in answer) announced.session.wantShared(announced.number, true);
      else this.#fails(hash, pending, announced, messageOf(error));
      return;
    }
    const file = "file" in answer ? answer.file : undefined;
    let content: SharedContent;
    try {
      content = SharedContent.receive(payload, { hash, inner }, storedAs(file));
    } catch (error) {
      this.#fails(hash, pending, announced, messageOf(error));
      return;
    }
    const kept = { payload, file, use: new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT) };
    this.#options.tell({ kind: "share", notice: "have", hash, kept });
    this.#arrived(hash, content, kept);
  }

  /** The owner of a value does not have it any more. */
  dropped(announced: AnnouncedValue): void {
    if (announced instanceof AnnouncedShare) this.#withdraw(announced, "its owner has disposed of it or lost it");
    if (!this.#kept.delete(announced.hash)) return;
    this.#options.tell({ kind: "share", notice: "dropped", hash: announced.hash });
    this.#options.dropped();
  }

  /** A session is over: nothing more comes from it. */
  closed(session: ShareSession): void {
    this.#leave(session, [...this.#pending], unusable("its caller is gone"));
  }

  /** A session cannot send these any more. There may be very many, so other work gets its turns in between. */
  #leave(session: ShareSession, pendings: readonly (readonly [string, PendingShare])[], error: Error): void {
    const end = performance.now() + SLICE_MS;
    for (const [index, [hash, pending]] of pendings.entries()) {
      if (index % PER_LOOK === PER_LOOK - 1 && performance.now() > end) {
        setImmediate(() => this.#leave(session, pendings.slice(index), error));
        return;
      }
      // The value may have come meanwhile.
      if (this.#pending.get(hash) !== pending) continue;
      const { announced, asked } = pending;
      const before = announced.size;
      for (const each of announced) if (each.session === session) announced.delete(each);
      if (announced.size < before) this.#left(hash, pending, asked.delete(session), error);
    }
  }

  #fetch(hash: string, pending: PendingShare | undefined): void {
    const first = firstOf(pending);
    if (pending === undefined || first === undefined) {
      this.#options.tell({ kind: "share", notice: "failed", hash });
      return;
    }
    pending.askedAt = performance.now();
    this.#beat();
    this.#timer ??= setInterval(() => this.#wait(), PULSE_MS).unref();
    ask(pending, first);
  }

  #wait(): void {
    this.#beat();
    const now = performance.now();
    let isAnyAsked = false;
    for (const { announced, asked, askedAt } of this.#pending.values()) {
      if (asked.size === 0) continue;
      isAnyAsked = true;
      if (now - askedAt < ANSWER_MS) continue;
      // A caller that is frozen or hostile must not keep the value from this thread if another caller has it.
      for (const each of announced) if (!asked.has(each.session)) ask({ asked }, each);
    }
    if (isAnyAsked) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Shows that no task blocks this thread, for `more` milliseconds ahead. */
  #beat(more = 0): void {
    new Float64Array(this.#pulse)[0] = Date.now() + more;
  }

  #arrived(hash: string, content: SharedContent, kept: KeptShare): void {
    const pending = this.#pending.get(hash);
    this.#pending.delete(hash);
    this.#keep(content, kept);
    pending?.resolve(content);
  }

  #keep(content: SharedContent, kept: KeptShare): void {
    const use = new Float64Array(kept.use);
    use[0] = timeOfUse();
    this.#memory.set(content, kept);
    this.#kept.set(content.hash, { content, use });
    content.link();
  }

  #withdraw(announced: AnnouncedShare, reason: string): void {
    const pending = this.#pending.get(announced.hash);
    if (pending?.announced.has(announced) === true) this.#fails(announced.hash, pending, announced, reason);
  }

  /** A caller that has announced the value does not have it. Asks the next caller, if there is one. */
  #fails(hash: string, pending: PendingShare, announced: AnnouncedShare, reason: string): void {
    pending.announced.delete(announced);
    const wasAsked = pending.asked.get(announced.session) === announced && pending.asked.delete(announced.session);
    this.#left(hash, pending, wasAsked, unusable(reason));
  }

  /** Fewer callers can send the value. `wasAsked`: one of the asked callers cannot. */
  #left(hash: string, pending: PendingShare, wasAsked: boolean, error: Error): void {
    if (pending.announced.size === 0) {
      this.#pending.delete(hash);
      pending.reject(error);
    }
    if (wasAsked && pending.asked.size === 0) this.#fetch(hash, this.#pending.get(hash));
  }

  #tooLarge(bytes: number): SerializationError {
    const { budget } = this.#options;
    return unusable(
      `it takes ${bytes} bytes, and its worker keeps at most ${budget} of such values. Raise the worker's option ` +
        `"shareBudget", or share less`,
    );
  }
}

function unusable(reason: string): SerializationError {
  return new SerializationError(`the value of share() cannot be used: ${reason}`, "share()");
}

function makePending(): PendingShare {
  const { promise, resolve, reject } = withResolvers();
  // Everyone who waits for it gets the failure, but maybe nobody waits.
  promise.catch(() => undefined);
  const [announced, asked] = [new Set<AnnouncedShare>(), new Map<ShareSession, AnnouncedShare>()];
  return { announced, asked, askedAt: 0, promise, resolve, reject };
}

function ask({ asked }: Pick<PendingShare, "asked">, announced: AnnouncedShare): void {
  asked.set(announced.session, announced);
  announced.session.wantShared(announced.number, false);
}

function firstOf(pending: PendingShare | undefined): AnnouncedShare | undefined {
  return pending?.announced.values().next().value;
}

function withResolvers(): Pick<PendingShare, "promise" | "resolve" | "reject"> {
  let [resolve, reject]: [PendingShare["resolve"], PendingShare["reject"]] = [() => undefined, () => undefined];
  const promise = new Promise<SharedContent>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** The file still belongs to its owner. */
function readFile(store: PayloadStore, file: string, length: number): KeptShare["payload"] {
  const source = store.open(file, length);
  try {
    return readSharedPayload(source);
  } finally {
    source.close(false);
  }
}

function fromMemory(payload: Payload): KeptShare["payload"] {
  const { buffer, start, length } = payload;
  const source: PayloadSource = {
    length,
    read: (target, at) => target.set(buffer.subarray(start + at, start + at + target.length)),
  };
  return readSharedPayload(source);
}

function storedAs(file: string | undefined): { store: PayloadStore; name: string } | undefined {
  return file === undefined ? undefined : { store: payloadFiles, name: file };
}

function readAnnouncement(data: Dependency["data"]): { bytes: number; inner: readonly string[] } {
  const { bytes, inner } = (data ?? {}) as { readonly bytes?: unknown; readonly inner?: unknown };
  if (typeof bytes !== "number" || !Number.isSafeInteger(bytes) || bytes < 1 || !Array.isArray(inner)) {
    throw new MalformedFrame("a shared value was announced without its size");
  }
  return { bytes, inner: inner.map(String) };
}

/** Finer than `Date.now()`, so that two uses within a millisecond have an order. */
function timeOfUse(): number {
  return performance.timeOrigin + performance.now();
}
