import { types } from "node:util";
import type { Dependency, ShippingPolicy } from "../functions/index.ts";
import { type FunctionPort, functionPort, ValueEncoder } from "../values/index.ts";
import { isConstant } from "./constancy.ts";
import type { RoutineOptions } from "./options.ts";
import { nextRouteNumber, type Route } from "./route.ts";

/** Any function that can be made a routine. */
export type AnyFunction = (...args: never[]) => unknown;

/** What a routine is: its function, its options, and its code once that has been captured. */
export class RoutineSpec {
  readonly fn: AnyFunction;
  readonly options: RoutineOptions;
  readonly name: string;
  /** The function is a generator. */
  readonly streams: boolean;
  /** The function takes its `this` as the first argument that travels. */
  readonly method: boolean;
  /** No option says anything about how calls are made. */
  readonly plain: boolean;
  #route: Route | undefined;
  #constant = false;
  /** The route for workers without some modules, and how many those were. */
  #without: { readonly size: number; readonly route: Route } | undefined;

  constructor(fn: AnyFunction, options: RoutineOptions, method: boolean) {
    this.fn = fn;
    this.options = Object.freeze({ ...options });
    this.name = options.name ?? (fn.name === "" ? "anonymous" : fn.name);
    this.streams = types.isGeneratorFunction(fn);
    this.method = method;
    this.plain =
      options.timeout === undefined &&
      options.dispatchTimeout === undefined &&
      options.idempotent === undefined &&
      options.prefetch === undefined;
  }

  /** How the function itself is to travel; what it captured goes by the rules. */
  get policy(): ShippingPolicy {
    const { ship } = this.options;
    return ship === undefined ? {} : { ship };
  }

  /** The same function with other options. */
  derive(options: RoutineOptions): RoutineSpec {
    return new RoutineSpec(this.fn, { ...this.options, ...options }, this.method);
  }

  /**
   * The code as it is now. Captured at the first call, when everything at module level is initialised, and again
   * whenever something captured may have changed. Throws `SerializationError` when it cannot travel.
   *
   * @param self - what a method was called on: `super` and private names mean something there only
   * @param unavailable - hashes of modules that the receiver cannot load: their code travels instead
   */
  route(self?: unknown, unavailable?: ReadonlySet<string>): Route {
    if (unavailable !== undefined) return this.#routeWithout(self, unavailable);
    if (this.#constant && this.#route !== undefined) return this.#route;
    this.#route = this.#capture(self, undefined, this.#route);
    return this.#route;
  }

  #routeWithout(self: unknown, unavailable: ReadonlySet<string>): Route {
    const known = this.#without;
    if (this.#constant && known?.size === unavailable.size) return known.route;
    const route = this.#capture(self, unavailable, known?.route);
    this.#without = { size: unavailable.size, route };
    return route;
  }

  #capture(self: unknown, unavailable: ReadonlySet<string> | undefined, previous: Route | undefined): Route {
    const encoder = new ValueEncoder(this.#port(self, unavailable));
    const encoded = encoder.encode(this.fn, this.name);
    if (previous !== undefined && Buffer.compare(previous.code, encoded) === 0) return previous;
    const code = Uint8Array.from(encoded);
    let dependencies: readonly Dependency[] = encoder.dependencies;
    let serializer: Uint8Array | undefined;
    if (this.options.serializer !== undefined) {
      serializer = Uint8Array.from(encoder.encode(this.options.serializer, `${this.name}.serializer`));
      dependencies = [...dependencies, ...encoder.dependencies];
    }
    this.#constant = isConstant(this.fn);
    return {
      number: nextRouteNumber(),
      name: this.name,
      code,
      dependencies,
      streams: this.streams,
      method: this.method,
      serializer,
      fresh: !this.#constant,
      replaces: previous?.number ?? 0,
    };
  }

  /** The routine's own function travels as its options say; what it captured by the rules for everything. */
  #port(self: unknown, unavailable: ReadonlySet<string> | undefined): FunctionPort {
    const policy = {
      ...this.policy,
      ...(this.method && isObject(self) ? { holder: self } : {}),
    };
    return functionPort(unavailable === undefined ? {} : { unavailable }, { fn: this.fn, policy });
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}
