import { type AnyFunction, promptVersion } from "../../../functions/index.ts";
import {
  isSerializer,
  jsonSerializer,
  NO_COLLECTIONS,
  type Serializer,
  type ValueDecoder,
} from "../../../values/index.ts";
import { type FrameReader, type ReceivedDependencies, RouteField } from "../../../wire/index.ts";
import { targetFunction, targetRefusal } from "./target-function.ts";

/** A routine as a session has announced it. It is decoded when the first task needs it. */
export class RemoteRoutine {
  readonly name: string;
  readonly streams: boolean;
  readonly method: boolean;
  readonly #fresh: boolean;
  readonly #decoder: ValueDecoder;
  readonly #code: Buffer;
  readonly #serializerCode: Buffer | undefined;
  /** Names the function instead of the code; empty otherwise. */
  readonly #target: string;
  /** Whether values travel as JSON, because the caller uses another language. */
  readonly isForeign: boolean;
  /** Why this worker cannot run it. */
  readonly refusal: string | undefined;
  readonly #received: ReceivedDependencies;
  readonly #needs: readonly number[];
  /** Whether it captured shared values, which may be missing when a task starts. */
  readonly holdsValues: boolean;
  /** Whether the dependencies of the code have been asked for. */
  #isAskedFor = false;
  #loading: Promise<unknown> | undefined;
  #fn: AnyFunction | undefined;
  #promptFn: AnyFunction | undefined;
  #wasMade = false;
  /** The weak collections that the function captured, once it has been made. */
  weak = NO_COLLECTIONS;
  #serializer: Serializer | undefined;

  /** Takes the route frame at the position of the reader. */
  constructor(frame: FrameReader, decoder: ValueDecoder, received: ReceivedDependencies) {
    this.name = frame.text(RouteField.name);
    this.streams = frame.integer(RouteField.streams) === 1;
    this.method = frame.integer(RouteField.method) === 1;
    this.#fresh = frame.integer(RouteField.fresh) === 1;
    this.#decoder = decoder;
    this.#code = Buffer.from(frame.view(RouteField.code));
    this.#serializerCode = frame.has(RouteField.serializer)
      ? Buffer.from(frame.view(RouteField.serializer))
      : undefined;
    this.#target = frame.text(RouteField.target);
    const encoding = frame.text(RouteField.encoding);
    this.isForeign = encoding === "json";
    this.refusal = targetRefusal(this.#target, encoding);
    this.#received = received;
    this.#needs = received.needs(frame, RouteField.needs);
    this.holdsValues = received.holdsValues(this.#needs);
  }

  /**
   * Set while the dependencies of the code are loading. Reading it starts the loading. Read it right before the
   * function.
   */
  get loading(): Promise<unknown> | undefined {
    if (this.holdsValues) return this.#received.ready(this.#needs);
    if (!this.#isAskedFor) this.#loadNeeds();
    if (this.#target !== "" && this.#fn === undefined) this.#loading ??= this.#load();
    return this.#loading;
  }

  #loadNeeds(): void {
    this.#isAskedFor = true;
    this.#loading = this.#received.ready(this.#needs);
    this.#loading?.then(
      () => {
        this.#loading = undefined;
      },
      () => undefined,
    );
  }

  /** Loads the function that the target names. The next task tries again after a failure. */
  async #load(): Promise<void> {
    try {
      this.#fn = await targetFunction(this.#target, this.streams);
    } finally {
      this.#loading = undefined;
    }
  }

  /** How many bytes the caller sent for it. */
  get bytes(): number {
    return this.#code.length + (this.#serializerCode?.length ?? 0) + this.name.length + this.#target.length;
  }

  /** Whether its function has been made before, so that nothing can be missing for it. */
  get wasMade(): boolean {
    return this.#wasMade || this.#fn !== undefined;
  }

  /** The function to run: one for all tasks, or a copy for each when it may change what it captured. */
  function(): AnyFunction {
    if (this.#fn !== undefined) return this.#fn;
    const fn = this.#decoder.decode(this.#code) as AnyFunction;
    this.weak = this.#decoder.weakCollections;
    this.#wasMade = true;
    if (!this.#fresh) this.#fn = fn;
    return fn;
  }

  /**
   * The function to run for calls of packs, which take next to no time. Nobody but this thread would see the promise of an
   * async function that never awaits, so none is made: that takes half of the thread's time for such a call on Node.js 20,
   * which tracks the context of each promise.
   */
  packFunction(): AnyFunction {
    if (this.#promptFn !== undefined) return this.#promptFn;
    const fn = this.function();
    if (this.#fn !== undefined) this.#promptFn = promptVersion(fn) ?? fn;
    return this.#promptFn ?? fn;
  }

  /** Drops the function if it holds shared values. It is made again when needed. */
  forgetFunction(): void {
    if (!this.holdsValues) return;
    this.#fn = undefined;
    this.#promptFn = undefined;
  }

  /** Whether it can be called in packs. */
  get takesPacks(): boolean {
    return !this.streams && !this.method && !this.hasSerializer;
  }

  /** Whether the routine has its own serializer. */
  get hasSerializer(): boolean {
    return this.#serializerCode !== undefined || this.isForeign;
  }

  /** The routine's own serializer, if it has one. */
  serializer(): Serializer | undefined {
    if (this.isForeign) return jsonSerializer;
    if (this.#serializerCode === undefined) return undefined;
    if (this.#serializer === undefined) {
      const value = this.#decoder.decode(this.#serializerCode);
      if (isSerializer(value)) this.#serializer = value;
    }
    return this.#serializer;
  }
}
