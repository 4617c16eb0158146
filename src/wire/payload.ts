import type { EncodedValue, PayloadSource, Serializer, ValueDecoder } from "../values/index.ts";
import { SlicedReading } from "./sliced-reading.ts";

/** Payloads above this size go through the store where peers share one. */
export const STORE_FROM_BYTES = 64 * 1024;
/** Payloads in a store above this size are large: reading one takes more than 2 ms, since new memory costs 0.9 ms for each MB. */
const LARGE_BYTES = 2 * 1024 * 1024;

/**
 * A place outside of messages, such as files in memory, where peers leave large payloads for each other. The peer that
 * has read or dropped a payload owns its space.
 */
export interface PayloadStore {
  /** Stores a payload and returns its name, or `undefined` when there is no room. */
  put(payload: EncodedValue): string | undefined;
  /** Throws unless a peer can have stored a payload of this length under this name. */
  check(name: string, length: number): void;
  /** Opens the payload that a peer has stored. It stays readable after that, even without the peer. Throws like `check`. */
  open(name: string, length: number): OpenPayload;
  /** Removes a payload that this process has stored. */
  remove(name: string): void;
  /** Takes over the space of a payload that nobody reads. Throws for a name that a peer cannot have stored. */
  drop(name: string, length: number): void;
}

/** A payload of a store that is being read. */
export interface OpenPayload extends PayloadSource {
  /** Nothing from `end` on will be read any more: that space may be freed. */
  shrink(end: number): void;
  /** Nothing more will be read. `taken`: its space belongs to this process. */
  close(taken: boolean): void;
}

/** How a frame says where its payload is. */
export type PayloadPlace =
  /** Nowhere: the value is undefined. */
  | Readonly<Record<string, never>>
  /** In the frame. */
  | { readonly bytes: Uint8Array }
  /** In the chunks before the frame: this many bytes. */
  | { readonly chunked: number }
  /** In the store, under this name. */
  | { readonly chunked: number; readonly file: string };

/** A payload in a store. */
interface StoredPayload {
  readonly store: PayloadStore;
  readonly name: string;
  /** Set while it is kept open. */
  open: OpenPayload | undefined;
  /** It has been read or dropped. */
  isGone: boolean;
}

const OWNED = { owned: true } as const;
const NO_BYTES = new Uint8Array(0);

/**
 * An encoded value: none, because the value is undefined; in memory; or in a store that both peers reach. A payload in
 * a store is read or dropped once.
 */
export class Payload {
  /** The value is undefined. */
  static readonly NONE = new Payload(NO_BYTES, 0, 0, undefined);
  /** No bytes, which a serializer may still decode. */
  static readonly EMPTY = new Payload(NO_BYTES, 0, 0, undefined);

  /** In memory, the payload is the part of `buffer` from `start` to `end`; in a store, `end` is its length. */
  readonly buffer: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** Where it is stored, or "owned" if nobody else uses its buffer. Every call has a payload, so it has few fields. */
  readonly #origin: StoredPayload | "owned" | undefined;

  private constructor(buffer: Uint8Array, start: number, end: number, origin: StoredPayload | "owned" | undefined) {
    this.buffer = buffer;
    this.start = start;
    this.end = end;
    this.#origin = origin;
  }

  /** A part of a buffer. `owned`: nobody else uses the buffer, so large binary data may stay in it. */
  static inMemory(buffer: Uint8Array, start = 0, end = buffer.length, owned = false): Payload {
    return new Payload(buffer, start, end, owned ? "owned" : undefined);
  }

  /** The payload that `store` has under `name`. */
  static inStore(store: PayloadStore, name: string, length: number): Payload {
    return new Payload(NO_BYTES, 0, length, { store, name, open: undefined, isGone: false });
  }

  get length(): number {
    return this.end - this.start;
  }

  get isStored(): boolean {
    return typeof this.#origin === "object";
  }

  /** Whether it is a part of a buffer that may have others, and nothing else. */
  get isPart(): boolean {
    return this.#origin === undefined && this !== Payload.NONE;
  }

  /** Whether reading it at once would block the event loop for too long. */
  get isLarge(): boolean {
    return this.isStored && this.length > LARGE_BYTES;
  }

  get #stored(): StoredPayload | undefined {
    return this.#origin === "owned" ? undefined : this.#origin;
  }

  /** How a frame names it. If it is in a store, the peer must reach that store. */
  get place(): PayloadPlace {
    const stored = this.#stored;
    if (stored !== undefined) return { chunked: this.length, file: stored.name };
    return this === Payload.NONE ? {} : { bytes: this.buffer.subarray(this.start, this.end) };
  }

  /**
   * The value, decoded with `serializer` or else with `decoder`. Throws when the bytes are not the payload of a value,
   * and rethrows the serializer's errors. After an error the payload is still in place.
   */
  read(decoder: ValueDecoder, serializer: Serializer | undefined): unknown {
    const stored = this.#stored;
    if (stored !== undefined && serializer === undefined) {
      return this.#take(stored, (source) => decoder.decodeFrom(source));
    }
    if (this === Payload.NONE) return undefined;
    if (serializer === undefined) {
      return decoder.decode(this.buffer, this.start, this.end, this.#origin === "owned" ? OWNED : undefined);
    }
    // The serializer may keep the bytes.
    const { buffer, start, end } = this.intoMemory();
    return serializer.loads(buffer.subarray(start, end));
  }

  /**
   * Begins to read a large payload. Everything but binary data is decoded at once, and may throw as `read` does. The
   * reading ends early when `isWanted` says that nobody wants the value any more.
   */
  readInSlices(decoder: ValueDecoder, serializer: Serializer | undefined, isWanted: () => boolean): SlicedReading {
    const stored = this.#stored;
    if (stored === undefined) throw new TypeError("the payload is not in a store");
    const open = this.#open(stored);
    try {
      const reading = new SlicedReading(open, decoder, serializer, isWanted);
      stored.isGone = true;
      return reading;
    } catch (error) {
      this.#close(stored, false);
      throw error;
    }
  }

  /** The same payload in memory: takes it out of its store. */
  intoMemory(): Payload {
    const stored = this.#stored;
    if (stored === undefined) return this;
    const buffer = this.#take(stored, (source) => {
      const whole = Buffer.allocUnsafeSlow(source.length);
      source.read(whole, 0);
      return whole;
    });
    return Payload.inMemory(buffer, 0, buffer.length, true);
  }

  /** The same payload without the rest of its message. */
  detached(): Payload {
    if (this.#origin !== undefined || this.length === 0) return this;
    return Payload.inMemory(Buffer.from(this.buffer.subarray(this.start, this.end)));
  }

  /** Bytes of memory that it takes here. */
  get memoryBytes(): number {
    return this.isStored ? 0 : this.length;
  }

  /** Keeps a stored payload readable when the peer and its files are gone. */
  hold(): void {
    const stored = this.#stored;
    if (stored !== undefined) this.#open(stored);
  }

  /** Frees it: it has been read, or nobody will read it. */
  drop(): void {
    const stored = this.#stored;
    if (stored === undefined || stored.isGone) return;
    if (stored.open !== undefined) return this.#close(stored, true);
    stored.isGone = true;
    stored.store.drop(stored.name, this.length);
  }

  #open(stored: StoredPayload): OpenPayload {
    stored.open ??= stored.store.open(stored.name, this.length);
    return stored.open;
  }

  #close(stored: StoredPayload, taken: boolean): void {
    const { open } = stored;
    stored.open = undefined;
    stored.isGone = taken;
    open?.close(taken);
  }

  /** A payload that could not be read stays as it was: another try, or another worker, may need it. */
  #take<T>(stored: StoredPayload, read: (source: PayloadSource) => T): T {
    const open = this.#open(stored);
    let taken = false;
    try {
      const value = read(open);
      taken = true;
      return value;
    } finally {
      this.#close(stored, taken);
    }
  }
}

/** Stores a payload unless it is small. Returns undefined for small ones, and when there is no room. */
export function storePayload(store: PayloadStore, payload: EncodedValue): Payload | undefined {
  const { length } = payload;
  if (length <= STORE_FROM_BYTES) return undefined;
  const name = store.put(payload);
  return name === undefined ? undefined : Payload.inStore(store, name, length);
}
