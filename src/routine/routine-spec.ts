import { isObject } from "../checks/index.ts";
import {
  type AnyFunction,
  beginCapture,
  countedFunctions,
  type Dependency,
  endCapture,
  givesGenerator,
  hurryAccessors,
  type ShippingPolicy,
  writtenName,
} from "../functions/index.ts";
import { SharedContent } from "../sharing/index.ts";
import { functionPort, ValueEncoder } from "../values/index.ts";
import { isInTaskThread } from "./call-context.ts";
import { warnOfLargeCapture, warnOfSettings, warnOfSource } from "./capture-warnings.ts";
import { type CapturedState, capturedState } from "./captured-state.ts";
import type { RoutineOptions } from "./options.ts";
import { nextRouteNumber, type Route } from "./route.ts";
import { TaskCost } from "./task-cost.ts";

/** The code of a routine as of the last capture. */
interface Captured {
  readonly route: Route;
  readonly state: CapturedState;
  /** How often it was captured again and found to be the same. */
  readonly unchanged: number;
  /** How many functions it consists of. */
  readonly functions: number;
  /** How many milliseconds it has taken to capture it again. */
  readonly spent: number;
}

/** Capturing more functions than this for each call takes milliseconds. */
const MANY_FUNCTIONS = 10;
/** Making accessors takes about this many milliseconds. With them, the code need not be captured again. */
const COST_OF_ACCESSORS = 30;

function isPowerOfTwo(count: number): boolean {
  return (count & (count - 1)) === 0;
}

/** A routine: its function, its options, and its code once that has been captured. */
export class RoutineSpec {
  readonly fn: AnyFunction;
  readonly options: RoutineOptions;
  /** The function takes its `this` as the first argument that travels. */
  readonly method: boolean;
  /** No option changes how calls are made. */
  readonly plain: boolean;
  /** The name in the source, once the source has been read. */
  #written: string | undefined;
  #captured: Captured | undefined;
  readonly #cost = new TaskCost();
  #hasWarned = false;
  #isFirstCall = true;
  #encoder: ValueEncoder | undefined;
  #streams: boolean | undefined;
  /** The route for workers without some modules, and the number of those modules. */
  #without: { readonly size: number; readonly captured: Captured } | undefined;

  /**
   * @param written - the name in the source of a function without a name, if known
   * @param streams - whether the function is a generator, if known
   */
  constructor(fn: AnyFunction, options: RoutineOptions, method: boolean, written?: string, streams?: boolean) {
    this.fn = fn;
    this.options = Object.freeze({ ...options });
    this.#written = written;
    this.#streams = streams;
    this.method = method;
    this.plain =
      options.timeout === undefined &&
      options.dispatchTimeout === undefined &&
      options.idempotent === undefined &&
      options.results === undefined &&
      options.prefetch === undefined &&
      options.needs === undefined;
  }

  /** The function is a generator. Found out at the first call: before, helpers of a compiler may not be there yet. */
  get streams(): boolean {
    this.#streams ??= givesGenerator(this.fn);
    return this.#streams;
  }

  /** How the function itself travels; captured values follow the general rules. */
  get policy(): ShippingPolicy {
    const { ship } = this.options;
    return ship === undefined ? {} : { ship };
  }

  /**
   * The name in tags, traces and errors: from the options, else of the function, else from the source (that of the
   * variable, or the place). The name from the source is known once the code is captured; until then it is "anonymous".
   */
  get name(): string {
    const { name = this.fn.name } = this.options;
    return name === "" ? (this.#written ?? "anonymous") : name;
  }

  /** Finds the name in the source if it is needed. That reads the source, as capturing the code does. */
  findName(): string | undefined {
    if (this.#written === undefined && this.options.name === undefined && this.fn.name === "") {
      this.#written = writtenName(this.fn);
    }
    return this.#written;
  }

  /** The same function with other options. */
  derive(options: RoutineOptions): RoutineSpec {
    return new RoutineSpec(this.fn, { ...this.options, ...options }, this.method, this.#written, this.#streams);
  }

  /**
   * The code as it is now. Captured at the first call, when everything at module level is initialised, and again
   * whenever something captured may have changed. Throws `SerializationError` when it cannot travel.
   *
   * @param self - the object that a method was called on: `super` and private names depend on it
   * @param unavailable - modules that the receiver cannot load, by hash, and why: their code travels instead
   */
  route(self?: unknown, unavailable?: ReadonlyMap<string, string>): Route {
    if (unavailable !== undefined) return this.#routeWithout(self, unavailable);
    const known = this.#captured;
    if (known?.state.isUnchanged() === true) return known.route;
    this.#captured = this.#capture(self, undefined, known);
    return this.#captured.route;
  }

  /** True at the first call of this routine by a program: its end goes to `firstCallEnded`. Tasks are not programs. */
  takeFirstCall(): boolean {
    const isFirst = this.#isFirstCall;
    this.#isFirstCall = false;
    return isFirst && !isInTaskThread();
  }

  /** Warns of settings in packages that workers do not have. `route`: what the call has used in the end. */
  firstCallEnded({ dependencies }: Route): void {
    warnOfSettings(this.name, dependencies);
  }

  #routeWithout(self: unknown, unavailable: ReadonlyMap<string, string>): Route {
    const known = this.#without;
    if (known !== undefined && known.size === unavailable.size && known.captured.state.isUnchanged()) {
      return known.captured.route;
    }
    const captured = this.#capture(self, unavailable, known?.captured);
    this.#without = { size: unavailable.size, captured };
    return captured.route;
  }

  /** The route and its state; the previous route when the code is still the same. */
  #capture(
    self: unknown,
    unavailable: ReadonlyMap<string, string> | undefined,
    previous: Captured | undefined,
  ): Captured {
    this.findName();
    // One capture for both: the state reuses the parts that encoding has found.
    beginCapture();
    try {
      return this.#captureNow(self, unavailable, previous);
    } finally {
      endCapture();
    }
  }

  #captureNow(
    self: unknown,
    unavailable: ReadonlyMap<string, string> | undefined,
    previous: Captured | undefined,
  ): Captured {
    const policy: ShippingPolicy = unavailable === undefined ? {} : { unavailable };
    const own = this.#ownPolicy(self, policy);
    const encoder = this.#encoderFor(policy, own, previous === undefined);
    if (previous !== undefined && (previous.functions > MANY_FUNCTIONS || previous.spent > COST_OF_ACCESSORS)) {
      hurryAccessors();
    }
    const began = performance.now();
    const encoded = encoder.encode(this.fn, this.name);
    const functions = countedFunctions();
    const spent = previous === undefined ? 0 : previous.spent + performance.now() - began;
    if (previous !== undefined && Buffer.compare(previous.route.code, encoded) === 0) {
      const unchanged = previous.unchanged + 1;
      // After some calls there are accessors, which show a change without another capture.
      const state = isPowerOfTwo(unchanged) ? capturedState(this.fn, policy, own) : previous.state;
      return { route: previous.route, state, unchanged, functions, spent };
    }
    const code = Uint8Array.from(encoded);
    let dependencies: readonly Dependency[] = encoder.dependencies;
    const weak = encoder.weakCollections;
    if (!this.#hasWarned) {
      this.#hasWarned = true;
      warnOfSource(this);
      warnOfLargeCapture(this, own, encoder, code);
    }
    let serializer: Uint8Array | undefined;
    if (this.options.serializer !== undefined) {
      serializer = Uint8Array.from(encoder.encode(this.options.serializer, `${this.name}.serializer`));
      dependencies = [...dependencies, ...encoder.dependencies];
    }
    const state = capturedState(this.fn, policy, own);
    const route = {
      number: nextRouteNumber(),
      name: this.name,
      code,
      dependencies,
      sharesNothing: !dependencies.some(({ source }) => source instanceof SharedContent),
      weak,
      streams: this.streams,
      method: this.method,
      serializer,
      fresh: state.isMutable,
      replaces: previous?.route.number ?? 0,
      cost: this.#cost,
    };
    return { route, state, unchanged: 0, functions, spent };
  }

  /**
   * Keeps the usual encoder from the second capture on, since a function whose captured values may change is encoded for each
   * call. Most are captured once, and an encoder takes 17 KB: 10,000 routines took 165 MB more with one each.
   */
  #encoderFor(policy: ShippingPolicy, own: ShippingPolicy, isFirst: boolean): ValueEncoder {
    if (isFirst || policy.unavailable !== undefined || own.holder !== undefined) {
      return new ValueEncoder(functionPort(policy, { fn: this.fn, policy: own }));
    }
    this.#encoder ??= new ValueEncoder(functionPort(policy, { fn: this.fn, policy: own }));
    return this.#encoder;
  }

  /** The routine's function travels as its options say; captured values follow the general rules. */
  #ownPolicy(self: unknown, policy: ShippingPolicy): ShippingPolicy {
    const holder = this.method && isObject(self) ? self : undefined;
    if (this.options.ship === undefined && holder === undefined) return policy;
    return { ...policy, ...this.policy, ...(holder === undefined ? {} : { holder }) };
  }
}
