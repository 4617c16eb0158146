import { types } from "node:util";
import { type Dependency, type ShippingPolicy, writtenName } from "../functions/index.ts";
import { functionPort, ValueEncoder } from "../values/index.ts";
import { isConstant } from "./constancy.ts";
import type { RoutineOptions } from "./options.ts";
import { nextRouteNumber, type Route } from "./route.ts";

/** Any function that can be made a routine. */
export type AnyFunction = (...args: never[]) => unknown;

/** What generator functions inherit from, and what `bind` makes of them. */
const generatorPrototypes: readonly unknown[] = [function* () {}, async function* () {}].map(Object.getPrototypeOf);

function isGeneratorFunction(fn: AnyFunction): boolean {
  return types.isGeneratorFunction(fn) || generatorPrototypes.includes(Object.getPrototypeOf(fn));
}

/** What a routine is: its function, its options, and its code once that has been captured. */
export class RoutineSpec {
  readonly fn: AnyFunction;
  readonly options: RoutineOptions;
  /** The function is a generator. */
  readonly streams: boolean;
  /** The function takes its `this` as the first argument that travels. */
  readonly method: boolean;
  /** No option says anything about how calls are made. */
  readonly plain: boolean;
  /** The name in the source, once that has been looked at. */
  #written: string | undefined;
  #route: Route | undefined;
  #encoder: ValueEncoder | undefined;
  /** The route for workers without some modules, and how many those were. */
  #without: { readonly size: number; readonly route: Route } | undefined;

  /** @param written - the name that the source gives to a function without one, where that is known */
  constructor(fn: AnyFunction, options: RoutineOptions, method: boolean, written?: string) {
    this.fn = fn;
    this.options = Object.freeze({ ...options });
    this.#written = written;
    this.streams = isGeneratorFunction(fn);
    this.method = method;
    this.plain =
      options.timeout === undefined &&
      options.dispatchTimeout === undefined &&
      options.idempotent === undefined &&
      options.results === undefined &&
      options.prefetch === undefined;
  }

  /** How the function itself is to travel; what it captured goes by the rules. */
  get policy(): ShippingPolicy {
    const { ship } = this.options;
    return ship === undefined ? {} : { ship };
  }

  /**
   * What the routine is called in tags, traces and errors: what its options say, else the name of its function, else
   * the one that it has in the source. That is not known before the code is captured; until then it is "anonymous".
   */
  get name(): string {
    const { name = this.fn.name } = this.options;
    return name === "" ? (this.#written ?? "anonymous") : name;
  }

  /** Looks for the name in the source, where it is needed; that reads the source, as capturing the code does. */
  findName(): string | undefined {
    if (this.#written === undefined && this.options.name === undefined && this.fn.name === "") {
      this.#written = writtenName(this.fn);
    }
    return this.#written;
  }

  /** The same function with other options. */
  derive(options: RoutineOptions): RoutineSpec {
    return new RoutineSpec(this.fn, { ...this.options, ...options }, this.method, this.#written);
  }

  /**
   * The code as it is now. Captured at the first call, when everything at module level is initialised, and again
   * whenever something captured may have changed. Throws `SerializationError` when it cannot travel.
   *
   * @param self - what a method was called on: `super` and private names mean something there only
   * @param unavailable - modules that the receiver cannot load, by hash, and why: their code travels instead
   */
  route(self?: unknown, unavailable?: ReadonlyMap<string, string>): Route {
    if (unavailable !== undefined) return this.#routeWithout(self, unavailable);
    if (this.#route?.fresh === false) return this.#route;
    this.#route = this.#capture(self, undefined, this.#route);
    return this.#route;
  }

  #routeWithout(self: unknown, unavailable: ReadonlyMap<string, string>): Route {
    const known = this.#without;
    if (known?.route.fresh === false && known.size === unavailable.size) return known.route;
    const route = this.#capture(self, unavailable, known?.route);
    this.#without = { size: unavailable.size, route };
    return route;
  }

  #capture(self: unknown, unavailable: ReadonlyMap<string, string> | undefined, previous: Route | undefined): Route {
    this.findName();
    const policy: ShippingPolicy = unavailable === undefined ? {} : { unavailable };
    const own = this.#ownPolicy(self, policy);
    const encoder = this.#encoderFor(policy, own);
    const encoded = encoder.encode(this.fn, this.name);
    if (previous !== undefined && Buffer.compare(previous.code, encoded) === 0) return previous;
    const code = Uint8Array.from(encoded);
    let dependencies: readonly Dependency[] = encoder.dependencies;
    const weak = encoder.weakCollections;
    let serializer: Uint8Array | undefined;
    if (this.options.serializer !== undefined) {
      serializer = Uint8Array.from(encoder.encode(this.options.serializer, `${this.name}.serializer`));
      dependencies = [...dependencies, ...encoder.dependencies];
    }
    return {
      number: nextRouteNumber(),
      name: this.name,
      code,
      dependencies,
      weak,
      streams: this.streams,
      method: this.method,
      serializer,
      fresh: !isConstant(this.fn, policy, own),
      replaces: previous?.number ?? 0,
    };
  }

  /** The usual one is kept, since what may change is encoded for each call. */
  #encoderFor(policy: ShippingPolicy, own: ShippingPolicy): ValueEncoder {
    if (policy.unavailable !== undefined || own.holder !== undefined) {
      return new ValueEncoder(functionPort(policy, { fn: this.fn, policy: own }));
    }
    this.#encoder ??= new ValueEncoder(functionPort(policy, { fn: this.fn, policy: own }));
    return this.#encoder;
  }

  /** The routine's own function travels as its options say; what it captured by the rules for everything. */
  #ownPolicy(self: unknown, policy: ShippingPolicy): ShippingPolicy {
    const holder = this.method && isObject(self) ? self : undefined;
    if (this.options.ship === undefined && holder === undefined) return policy;
    return { ...policy, ...this.policy, ...(holder === undefined ? {} : { holder }) };
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
