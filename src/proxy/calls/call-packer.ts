import {
  type Call,
  CallPack,
  callsPerPack,
  closeSignals,
  fromCaller,
  MOST_PACK_BYTES,
  openSignals,
  type PackSink,
} from "../../call/index.ts";
import type { Route } from "../../routine/index.ts";
import { type EncodedValue, PayloadParts, type ValueEncoder } from "../../values/index.ts";
import { Payload } from "../../wire/index.ts";
import { StagingBuffer } from "./staging-buffer.ts";

/** Most calls in a pack. */
const MOST_CALLS = 128;

/** The items of a pack, as the callers that wait for them see it. */
export interface PackGroup extends PackSink {
  /** Adds an item. Returns its index. */
  add(): number;
  /** The call that carries the pack, once it is made: cancelling it cancels all items. */
  call: Pick<Call, "cancel"> | undefined;
}

/** How a packer makes calls. */
export interface CallPackerOptions {
  /** Whether calls may travel in packs at the moment. */
  canPack(): boolean;
  /** The current route. A new one when something that the routine captured has changed. */
  route(): Route;
  /** Most calls that a pack may have at the moment. May be less than 1. */
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
  readonly group: PackGroup;
  readonly route: Route;
  readonly most: number;
  readonly lengths: number[];
  readonly args: StagingBuffer;
}

/**
 * Makes calls of one routine with one argument each, in packs if the calls are very short. Each argument is encoded by
 * itself, at the time of its call, so that calls share nothing.
 */
export class CallPacker {
  readonly #options: CallPackerOptions;
  #open: OpenPack | undefined;
  /** Keeps the arguments of packs. Made with the first one. */
  #staging: StagingBuffer | undefined;

  constructor(options: CallPackerOptions) {
    this.#options = options;
  }

  /** Makes the call for an item, or adds the item to a pack. A pack is sent when it is full, or by `flush`. */
  add(item: unknown, openGroup: () => PackGroup): void {
    if (this.#pack(item, openGroup)) return;
    this.flush();
    const group = openGroup();
    const index = group.add();
    group.call = this.#options.single(
      item,
      (value) => group.succeeded(index, [value]),
      (failure) => group.failed(index, failure),
    );
  }

  /** Sends the pack that is being filled. */
  flush(): void {
    const open = this.#open;
    if (open === undefined) return;
    this.#open = undefined;
    const { group, route, lengths } = open;
    const { slab, start, end } = open.args;
    const pack = lengths.length === 1 ? undefined : new CallPack(lengths, group);
    const reject = (failure: unknown): void => (pack === undefined ? group.failed(0, failure) : pack.fail(failure));
    try {
      const args = Payload.inMemory(slab, start, end);
      group.call = this.#options.make(route, args, pack, (value) => group.succeeded(0, [value]), reject);
    } catch (error) {
      reject(fromCaller(error));
    }
  }

  /** Forgets the pack that is being filled. */
  drop(): void {
    this.#open = undefined;
  }

  /** Returns false for an item that has to travel by itself. */
  #pack(item: unknown, openGroup: () => PackGroup): boolean {
    const { encoder, canPack } = this.#options;
    let route: Route;
    let bytes: EncodedValue;
    // Other values can contain signals and functions.
    let isPlain = typeof item === "number" || typeof item === "string";
    try {
      if (this.#open === undefined && !canPack()) return false;
      route = this.#options.route();
      if (this.#open !== undefined && this.#open.route !== route) this.flush();
      if (this.#open === undefined && this.#most(route) === 1) return false;
      if (!isPlain) openSignals();
      bytes = encoder.encodeList([item], "args", route.weak);
      isPlain ||= closeSignals() === undefined && encoder.takeDependencies().length === 0;
    } catch {
      // The ordinary call reports the error.
      closeSignals();
      return false;
    }
    if (!isPlain || bytes instanceof PayloadParts || bytes.length > MOST_PACK_BYTES) return false;
    const open = this.#open ?? this.#begin(route, openGroup());
    const { lengths, args } = open;
    args.append(bytes);
    lengths.push(bytes.length);
    open.group.add();
    if (lengths.length >= open.most || args.end - args.start >= MOST_PACK_BYTES) this.flush();
    return true;
  }

  #begin(route: Route, group: PackGroup): OpenPack {
    this.#staging ??= new StagingBuffer();
    this.#staging.begin();
    const open = { group, route, most: this.#most(route), lengths: [], args: this.#staging };
    this.#open = open;
    return open;
  }

  #most(route: Route): number {
    return callsPerPack(route, Math.min(MOST_CALLS, Math.floor(this.#options.most())));
  }
}
