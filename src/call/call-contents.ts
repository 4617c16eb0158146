import type { Route } from "../routine/index.ts";
import type { SharedContent } from "../sharing/index.ts";
import { Payload } from "../wire/index.ts";
import type { CallPack } from "./call-pack.ts";
import type { CallExtras, CallWatcher, PoolReference, StreamSink } from "./call-parties.ts";
import type { LiveSignal } from "./live-signals.ts";
import type { Reject } from "./remote-failure.ts";

/** What few calls have. */
class CallRest {
  extras: CallExtras | undefined;
  signals: readonly LiveSignal[] | undefined;
  stream: StreamSink | undefined;
  returns = 0;
  refusals: Map<string, Error> | undefined;
  lostBefore: Error | undefined;
  watchers: CallWatcher[] | undefined;
  shared: SharedContent[] | undefined;
  reject: Reject | undefined;
}

/**
 * What a call consists of: its routine, its arguments, its options.
 *
 * Very many may wait, and the garbage collector copies each of them: a call has few fields, and no object of its own for its arguments.
 * (A million calls made at once: 2.1 instead of 2.45 us for the caller of each, medians of six runs in turns.)
 */
export abstract class CallContents {
  /** Names the call in this process; for a pack, its first call. */
  readonly sequence: number;
  /** The routine. Replaced when the call is remade for a worker without its code. */
  route: Route;
  pool: PoolReference | undefined;
  /** Set if it is a pack of calls. */
  readonly pack: CallPack | undefined;
  /** Undefined for most calls. */
  protected rest: CallRest | undefined;
  /** The arguments: where they are in a buffer, or their payload if they are in a store. */
  #args: Uint8Array | Payload = Payload.EMPTY.buffer;
  #argsStart = 0;
  #argsEnd = 0;

  constructor(sequence: number, route: Route, pack: CallPack | undefined) {
    this.sequence = sequence;
    this.route = route;
    this.pack = pack;
  }

  /** Makes `rest`, if there is none. */
  protected more(): CallRest {
    this.rest ??= new CallRest();
    return this.rest;
  }

  get extras(): CallExtras | undefined {
    return this.rest?.extras;
  }

  set extras(extras: CallExtras | undefined) {
    if (extras !== undefined || this.rest !== undefined) this.more().extras = extras;
  }

  /** Signals among the arguments, by their numbers. */
  get signals(): readonly LiveSignal[] | undefined {
    return this.rest?.signals;
  }

  set signals(signals: readonly LiveSignal[] | undefined) {
    if (signals !== undefined || this.rest !== undefined) this.more().signals = signals;
  }

  /** Receives the steps, if the routine is a generator. */
  get stream(): StreamSink | undefined {
    return this.rest?.stream;
  }

  set stream(stream: StreamSink | undefined) {
    if (stream !== undefined || this.rest !== undefined) this.more().stream = stream;
  }

  /** How often a worker lost the thread that it was meant for before that thread had read it. */
  get returns(): number {
    return this.rest?.returns ?? 0;
  }

  set returns(returns: number) {
    this.more().returns = returns;
  }

  /** The errors of workers that refused it, by the worker's uid. */
  get refusals(): Map<string, Error> | undefined {
    return this.rest?.refusals;
  }

  set refusals(refusals: Map<string, Error> | undefined) {
    if (refusals !== undefined || this.rest !== undefined) this.more().refusals = refusals;
  }

  /** The encoded arguments. Made anew each time where they are a part of a buffer: see `argsBuffer`. */
  get args(): Payload {
    const args = this.#args;
    return args instanceof Payload ? args : Payload.inMemory(args, this.#argsStart, this.#argsEnd);
  }

  set args(args: Payload) {
    this.#args = args.isPart ? args.buffer : args;
    this.#argsStart = args.start;
    this.#argsEnd = args.end;
  }

  /** The encoded arguments are this part of a buffer. */
  setArgs(buffer: Uint8Array, start: number, end: number): void {
    this.#args = buffer;
    this.#argsStart = start;
    this.#argsEnd = end;
  }

  /** The buffer that the encoded arguments are a part of, from `argsStart` to `argsEnd`; undefined if they are elsewhere. */
  get argsBuffer(): Uint8Array | undefined {
    const args = this.#args;
    return args instanceof Payload ? undefined : args;
  }

  get argsStart(): number {
    return this.#argsStart;
  }

  get argsEnd(): number {
    return this.#argsEnd;
  }

  /** No worker will read the arguments. */
  protected dropArgs(): void {
    if (this.#args instanceof Payload) this.#args.drop();
  }
}
