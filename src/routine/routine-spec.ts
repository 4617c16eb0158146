import { types } from "node:util";
import type { Dependency } from "../functions/index.ts";
import { ValueEncoder } from "../values/index.ts";
import { isConstant } from "./constancy.ts";
import type { RoutineOptions } from "./options.ts";
import { nextRouteNumber, type Route } from "./route.ts";

/** Any function that can be made a routine. */
export type AnyFunction = (...args: never[]) => unknown;

const encoder = new ValueEncoder();

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

  constructor(fn: AnyFunction, options: RoutineOptions, method: boolean) {
    this.fn = fn;
    this.options = options;
    this.name = options.name ?? (fn.name === "" ? "anonymous" : fn.name);
    this.streams = types.isGeneratorFunction(fn);
    this.method = method;
    this.plain =
      options.timeout === undefined &&
      options.dispatchTimeout === undefined &&
      options.idempotent === undefined &&
      options.prefetch === undefined;
  }

  /** The same function with other options. */
  derive(options: RoutineOptions): RoutineSpec {
    return new RoutineSpec(this.fn, { ...this.options, ...options }, this.method);
  }

  /**
   * The code as it is now. Captured at the first call, when everything at module level is initialised, and again
   * whenever something captured may have changed. Throws `SerializationError` when it cannot travel.
   */
  route(): Route {
    if (this.#constant && this.#route !== undefined) return this.#route;
    return this.#capture();
  }

  #capture(): Route {
    const previous = this.#route;
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
    this.#route = {
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
    return this.#route;
  }
}
