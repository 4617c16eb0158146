import { type Call, CallPack, closeSignals, fromCaller, openSignals, type PackSink } from "../../call/index.ts";
import type { Route } from "../../routine/index.ts";
import { type EncodedValue, PayloadParts, type ValueEncoder } from "../../values/index.ts";
import { Payload } from "../../wire/index.ts";

/** Microseconds of work in a pack: about as much as waking a thread is worth. */
const PACK_US = 200;
/** Most calls of a pack. */
const MOST_CALLS = 128;
/** A pack with arguments of this size is sent, and larger ones travel by themselves. */
const MOST_BYTES = 16 * 1024;

/** The items of a pack, as those see it who wait for them. */
export interface PackSlot extends PackSink {
  /** Adds an item. Returns its index. */
  add(): number;
  /** Cancels all of them, once they are under way. */
  call: Pick<Call, "cancel"> | undefined;
}

/** How a packer makes calls. */
export interface CallPackerOptions {
  /** Whether calls may travel in packs now. */
  canPack(): boolean;
  /** What the routine is now. Another one when it captured something that has changed. */
  route(): Route;
  /** Most calls that a pack may have now, also less than 1. */
  most(): number;
  readonly encoder: ValueEncoder;
  /** Makes and submits a call. Throws when nobody takes it. */
  make(
    route: Route,
    args: Payload,
    pack: CallPack | undefined,
    resolve: (value: unknown) => void,
    reject: (failure: unknown) => void,
  ): Call;
  /** Makes an ordinary call for an item. */
  single(item: unknown, resolve: (value: unknown) => void, reject: (failure: unknown) => void): Call | undefined;
}

/** A pack that is being filled. */
interface OpenPack {
  readonly slot: PackSlot;
  readonly route: Route;
  readonly most: number;
  readonly lengths: number[];
  buffer: Buffer;
  size: number;
}

/**
 * Makes calls of one routine with one argument each, in packs where they take next to no time. Each argument is encoded when
 * it comes, as it is then, and by itself, so that calls share nothing.
 */
export class CallPacker {
  readonly #options: CallPackerOptions;
  #open: OpenPack | undefined;

  constructor(options: CallPackerOptions) {
    this.#options = options;
  }

  /** Makes the call for an item, or puts it into a pack, which is sent when it is full, and by `flush`. */
  add(item: unknown, openSlot: () => PackSlot): void {
    if (this.#pack(item, openSlot)) return;
    this.flush();
    const slot = openSlot();
    const index = slot.add();
    slot.call = this.#options.single(
      item,
      (value) => slot.succeeded(index, value),
      (failure) => slot.failed(index, failure),
    );
  }

  /** Sends the pack that is being filled. */
  flush(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { slot, route, lengths, buffer, size } = open;
    const pack = lengths.length === 1 ? undefined : new CallPack(lengths, slot);
    const reject = (failure: unknown): void => (pack === undefined ? slot.failed(0, failure) : pack.fail(failure));
    try {
      const args = Payload.inMemory(buffer, 0, size);
      slot.call = this.#options.make(route, args, pack, (value) => slot.succeeded(0, value), reject);
    } catch (error) {
      reject(fromCaller(error));
    }
  }

  /** Forgets the pack that is being filled. */
  drop(): void {
    this.#open = undefined;
  }

  /** Returns false for an item that has to travel by itself. */
  #pack(item: unknown, openSlot: () => PackSlot): boolean {
    const { encoder, canPack } = this.#options;
    let route: Route;
    let bytes: EncodedValue;
    let isPlain: boolean;
    openSignals();
    try {
      if (this.#open === undefined && !canPack()) return false;
      route = this.#options.route();
      if (this.#open !== undefined && this.#open.route !== route) this.flush();
      if (this.#open === undefined && (route.encoding !== undefined || this.#most(route) === 1)) return false;
      bytes = encoder.encodeList([item], "args", route.weak);
      isPlain = encoder.takeDependencies().length === 0;
    } catch {
      // An ordinary call tells why.
      return false;
    } finally {
      if (closeSignals() !== undefined) isPlain = false;
    }
    if (!isPlain || bytes instanceof PayloadParts || bytes.length > MOST_BYTES) return false;
    const open = this.#open ?? this.#begin(route, openSlot());
    store(open, bytes);
    open.slot.add();
    if (open.lengths.length >= open.most || open.size >= MOST_BYTES) this.flush();
    return true;
  }

  #begin(route: Route, slot: PackSlot): OpenPack {
    const open = { slot, route, most: this.#most(route), lengths: [], buffer: Buffer.allocUnsafeSlow(1024), size: 0 };
    this.#open = open;
    return open;
  }

  /** How many calls of a routine make a pack, by what such calls took before; 1 if nobody knows. */
  #most(route: Route): number {
    return Math.max(1, Math.min(MOST_CALLS, route.cost?.run(PACK_US) ?? 1, Math.floor(this.#options.most())));
  }
}

function store(open: OpenPack, bytes: Uint8Array): void {
  const end = open.size + bytes.length;
  if (end > open.buffer.length) {
    const larger = Buffer.allocUnsafeSlow(Math.max(end, open.buffer.length * 2));
    larger.set(open.buffer.subarray(0, open.size));
    open.buffer = larger;
  }
  const { buffer, size } = open;
  if (bytes.length < 32) for (let i = 0; i < bytes.length; i++) buffer[size + i] = bytes[i] as number;
  else buffer.set(bytes, size);
  open.size = end;
  open.lengths.push(bytes.length);
}
