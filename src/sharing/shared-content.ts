import { createHash } from "node:crypto";
import { type Dependency, findDependency } from "../functions/index.ts";
import {
  type EncodedValue,
  functionPort,
  PayloadParts,
  type SharedPayload,
  sharedParts,
  ValueDecoder,
  ValueEncoder,
} from "../values/index.ts";

/** Where a value is kept for other processes of this machine to read. */
export interface ContentStore {
  /** Stores a payload and returns its name, or `undefined` when there is no room. */
  put(payload: EncodedValue): string | undefined;
  /** Removes the payload of that name. */
  remove(name: string): void;
}

/** A payload in a content store. */
export interface StoredContent {
  readonly store: ContentStore;
  readonly name: string;
}

/** The `kind` in the announcement of a shared value. */
export const SHARED = "shared";

// The content outlives the call that needs it first.
const encoder = new ValueEncoder(functionPort({ isLasting: true }));
const decoder = new ValueDecoder(functionPort({ isCall: true, isCaptured: true }));

/**
 * A shared value, encoded: made here, or received from another process. Lives as long as a handle, a call under way or a
 * worker's store refers to it, and tells the code that announced it to others when it is gone.
 */
export class SharedContent {
  /** Hash of the payload. It names the value in every process. */
  readonly hash: string;
  /** Size of the payload in bytes. */
  readonly bytes: number;
  /** Hashes of what decoding it needs: code, modules and other shared values. */
  readonly inner: readonly string[];
  #payload: EncodedValue | undefined;
  #value: { readonly value: unknown } | undefined;
  #decode: (() => unknown) | undefined;
  /** The dependencies behind `inner`, held for as long as this content is. */
  #needs: readonly Dependency[] | undefined;
  /** Boxed, so that the clean-up can refer to it without keeping this content alive. */
  readonly #file: { stored: StoredContent | undefined; readonly isOwn: boolean };
  #handles = 0;
  #uses = 0;

  private constructor(origin: {
    readonly hash: string;
    readonly payload: EncodedValue;
    readonly inner: readonly string[];
    readonly needs?: readonly Dependency[];
    readonly value?: { readonly value: unknown };
    readonly decode?: () => unknown;
    readonly stored?: StoredContent | undefined;
  }) {
    this.hash = origin.hash;
    this.bytes = origin.payload.length;
    this.inner = origin.inner;
    this.#payload = origin.payload;
    this.#needs = origin.needs;
    this.#value = origin.value;
    this.#decode = origin.decode;
    this.#file = { stored: origin.stored, isOwn: origin.stored === undefined };
    gone.register(this, { hash: this.hash, file: this.#file }, this);
  }

  /** Encodes a value. Throws a `ValueRefusal` that names `holder` when it cannot travel. */
  static of(value: unknown, holder: object): SharedContent {
    const payload = encoder.encodeToKeep(value, "value", holder);
    const needs = encoder.takeDependencies();
    const hash = hashOf(payload);
    const content = new SharedContent({
      hash,
      payload,
      needs,
      inner: needs.map((each) => each.hash),
      value: { value },
    });
    own.set(hash, [...(own.get(hash) ?? []), new WeakRef(content)]);
    return content;
  }

  /**
   * Takes a payload that has been sent here. Throws if its hash is not `hash`.
   *
   * @param stored - where the sender keeps it, if other processes can read it there
   */
  static receive(
    payload: SharedPayload,
    { hash, inner }: { readonly hash: string; readonly inner: readonly string[] },
    stored?: StoredContent,
  ): SharedContent {
    const parts = sharedParts(payload);
    if (hashOf(parts) !== hash) {
      throw new Error(
        "its content does not match its hash: it was changed after its first use. Change a copy, and share that",
      );
    }
    return SharedContent.adopt(payload, { hash, inner }, stored);
  }

  /** Takes a payload that another thread of this process has received. */
  static adopt(
    payload: SharedPayload,
    { hash, inner }: { readonly hash: string; readonly inner: readonly string[] },
    stored?: StoredContent,
  ): SharedContent {
    const decode = (): unknown => decoder.decodeShared(payload);
    const content = new SharedContent({ hash, payload: sharedParts(payload), inner, decode, stored });
    received.set(hash, new WeakRef(content));
    return content;
  }

  /** The value: the original, or a copy that nobody can change, the same one each time. Throws `MalformedPayload`. */
  get value(): unknown {
    this.#value ??= { value: this.#decode?.() };
    this.#decode = undefined;
    return this.#value.value;
  }

  /** The payload; undefined once every handle has been disposed of and no call uses it. */
  get payload(): EncodedValue | undefined {
    return this.#payload;
  }

  /** The dependencies of a payload with a handle in it: those of the value, and the value itself. */
  get needs(): readonly Dependency[] {
    this.link();
    return [...(this.#needs ?? []), { hash: this.hash, data: this.#announcement, source: this }];
  }

  get #announcement(): { readonly kind: string; readonly bytes: number; readonly inner: readonly string[] } {
    return { kind: SHARED, bytes: this.bytes, inner: this.inner };
  }

  /** Keeps the shared values inside this one alive, once they are here. */
  link(): void {
    if (this.#needs !== undefined) return;
    const found = this.inner.map((hash) => {
      const content = received.get(hash)?.deref();
      return content === undefined ? findDependency(hash) : content.needs.at(-1);
    });
    const needs = found.filter((dependency) => dependency !== undefined);
    if (needs.length === found.length) this.#needs = needs;
  }

  /** Puts it in a store and returns its name there; undefined when there is no room. */
  storedIn(store: ContentStore): string | undefined {
    const file = this.#file;
    if (file.stored === undefined && this.#payload !== undefined) {
      const name = store.put(this.#payload);
      if (name !== undefined) file.stored = { store, name };
    }
    return file.stored?.store === store ? file.stored.name : undefined;
  }

  /** A handle stands for it. */
  addHandle(): void {
    this.#handles++;
  }

  /** A handle was disposed of. With the last one, and when no call uses it any more, the value is gone. */
  removeHandle(): void {
    this.#handles--;
    this.#endIfUnused();
  }

  /** A call is under way that uses it. */
  use(): void {
    this.#uses++;
  }

  /** That call has ended. */
  unuse(): void {
    this.#uses--;
    this.#endIfUnused();
  }

  #endIfUnused(): void {
    const known = own.get(this.hash);
    const reference = known?.find((each) => each.deref() === this);
    if (this.#handles > 0 || this.#uses > 0 || known === undefined || reference === undefined) return;
    known.splice(known.indexOf(reference), 1);
    this.#payload = undefined;
    gone.unregister(this);
    cleanUp({ hash: this.hash, file: this.#file });
  }
}

/** Values that were shared here, the newest last. An older value with the same hash may have been changed since. */
const own = new Map<string, WeakRef<SharedContent>[]>();
/** Values that others have sent here. */
const received = new Map<string, WeakRef<SharedContent>>();
const listeners = new Set<(hash: string) => void>();

interface Remains {
  readonly hash: string;
  readonly file: { readonly stored: StoredContent | undefined; readonly isOwn: boolean };
}

const gone = new FinalizationRegistry<Remains>(cleanUp);

function cleanUp({ hash, file }: Remains): void {
  const left = own.get(hash)?.filter((reference) => reference.deref() !== undefined) ?? [];
  if (left.length === 0) own.delete(hash);
  else own.set(hash, left);
  if (received.get(hash)?.deref() === undefined) received.delete(hash);
  if (file.isOwn && file.stored !== undefined) file.stored.store.remove(file.stored.name);
  if (contentOf(hash) === undefined) for (const listener of listeners) listener(hash);
}

/** Calls `listener` for each value that this thread loses. Returns a function that removes the listener. */
export function onContentGone(listener: (hash: string) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** The value of that hash, if this thread has it: the original where it was shared, else the received one. */
export function contentOf(hash: string): SharedContent | undefined {
  const shared = own.get(hash)?.findLast((reference) => reference.deref() !== undefined);
  return shared?.deref() ?? received.get(hash)?.deref();
}

/** The value of that hash as it was received from another process or thread. */
export function receivedContent(hash: string): SharedContent | undefined {
  return received.get(hash)?.deref();
}

function hashOf(payload: EncodedValue): string {
  const hash = createHash("sha256");
  for (const part of payload instanceof PayloadParts ? payload.parts : [payload]) hash.update(part);
  return hash.digest("base64url").slice(0, 32);
}
