import { describeValue } from "../checks/index.ts";
import { InvalidArgument, PoolClosed } from "../errors.ts";
import type { AnyFunction } from "../functions/index.ts";
import { registerTraveller, traveller } from "../values/index.ts";
import { type CallCarrier, isCallCarrier } from "./call-carrier.ts";
import { areAllPoolsClosed, currentCallContext, currentPool } from "./call-context.ts";
import { type CallOptions, checkCallOptions, type RoutineOptions } from "./options.ts";
import { SPEC } from "./routine-registry.ts";
import { RoutineSpec } from "./routine-spec.ts";
import { type TargetFacts, TargetSpec } from "./target-routine.ts";

const CALL_OPTIONS = Symbol.for("wool-ts.routine.options");

/** The shape that all routines share at run time. */
interface RoutineObject {
  (this: unknown, ...args: unknown[]): unknown;
  [SPEC]: RoutineSpec;
  /** The options of `with`. */
  [CALL_OPTIONS]: CallOptions | undefined;
  with(options: CallOptions): RoutineObject;
  local(...args: unknown[]): unknown;
}

/** The object that users call. */
export function makeRoutine(spec: RoutineSpec, options?: CallOptions): unknown {
  const chosen = isCallCarrier(options?.pool) ? options.pool : undefined;
  const besidesPool = withoutPool(options);
  const object = function (this: unknown, ...args: unknown[]): unknown {
    const own = object[SPEC];
    const carrier = chosen ?? currentPool(currentCallContext());
    if (carrier === undefined) return areAllPoolsClosed() ? refuse(own) : invokeHere(own, this, args);
    const given = chosen === undefined ? object[CALL_OPTIONS] : besidesPool;
    return dispatch(carrier, own, own.method ? [this, ...args] : args, given);
  } as RoutineObject;
  object.with = function (options: CallOptions): RoutineObject {
    checkCallOptions(options, `${object[SPEC].name}.with()`);
    const own = object[SPEC];
    const merged = { ...object[CALL_OPTIONS], ...options };
    const changesRoute = options.name !== undefined || options.serializer !== undefined || options.ship !== undefined;
    return makeRoutine(changesRoute ? own.derive(routeOptions(options)) : own, merged) as RoutineObject;
  };
  object.local = function (this: unknown, ...args: unknown[]): unknown {
    return invokeHere(object[SPEC], this === object ? undefined : this, args);
  };
  object[SPEC] = spec;
  object[CALL_OPTIONS] = options;
  hide(object, "with", "local", SPEC, CALL_OPTIONS);
  Object.defineProperty(object, traveller, { value: "routine" });
  // The name in the source is known only once the code has been captured.
  Object.defineProperty(object, "name", { get: () => object[SPEC].name, configurable: true });
  Object.defineProperty(object, "length", { value: spec.fn.length, configurable: true });
  return object;
}

/** The options that are about the call itself; undefined if there are none. */
function withoutPool(options: CallOptions | undefined): CallOptions | undefined {
  if (options?.pool === undefined) return options;
  const { pool: _pool, ...rest } = options;
  return Object.keys(rest).length === 0 ? undefined : rest;
}

function routeOptions(options: CallOptions): RoutineOptions {
  return {
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.serializer === undefined ? {} : { serializer: options.serializer }),
    ...(options.ship === undefined ? {} : { ship: options.ship }),
  };
}

function hide(object: object, ...keys: (string | symbol)[]): void {
  for (const key of keys) Object.defineProperty(object, key, { enumerable: false });
}

/** Work that was meant for workers must not run in this process unnoticed. */
function refuse({ name, streams }: RoutineSpec): Promise<never> | AsyncGenerator<never, never, unknown> {
  const error = new PoolClosed(
    `${name} was called after all pools were stopped: call it before, start another pool, or run it in this process ` +
      `with ${name}.local()`,
  );
  return streams ? failingStream(error) : Promise.reject(error);
}

/** A generator that fails at its first step. */
// oxlint-disable-next-line require-yield
export async function* failingStream(error: Error): AsyncGenerator<never, never, unknown> {
  throw error;
}

/** Sends a call through a pool. A function rejects; a generator fails at its first step. */
function dispatch(
  carrier: CallCarrier,
  spec: RoutineSpec,
  args: readonly unknown[],
  options: CallOptions | undefined,
): Promise<unknown> | AsyncGenerator<unknown, unknown, unknown> {
  return spec.streams ? carrier.stream(spec, args, options) : carrier.call(spec, args, options);
}

/** Calls a routine through this pool, whatever pool is in force. Throws `InvalidArgument` for anything that is not a routine. */
export function dispatchThrough<A extends unknown[], T>(
  carrier: CallCarrier,
  routine: (...args: A) => T,
  args: A,
  options?: CallOptions,
): T {
  const object = requireRoutine(routine);
  const merged = { ...object[CALL_OPTIONS], ...options };
  const spec = object[SPEC];
  return dispatch(carrier, spec, argumentsOf(spec, args), Object.keys(merged).length === 0 ? undefined : merged) as T;
}

/** The arguments that travel for a routine that is called without a `this`. */
export function argumentsOf(spec: RoutineSpec, args: readonly unknown[]): readonly unknown[] {
  return spec.method ? [undefined, ...args] : args;
}

/** A routine that is not a generator, and its options of `with`. Throws `InvalidArgument` for anything else. */
export function requireFunctionRoutine(
  routine: unknown,
  user: string,
): { readonly spec: RoutineSpec; readonly options: CallOptions | undefined } {
  const { [SPEC]: spec, [CALL_OPTIONS]: options } = requireRoutine(routine);
  if (!spec.streams) return { spec, options };
  throw new InvalidArgument(`${user} takes a routine that returns one value, and ${spec.name} is a generator`);
}

function requireRoutine(value: unknown): RoutineObject {
  const object = routineObject(value);
  if (object !== undefined) return object;
  throw new InvalidArgument(`${describeValue(value)} is not a routine: wrap it first, as in routine(fn)`);
}

function invokeHere(spec: RoutineSpec, self: unknown, args: readonly unknown[]): unknown {
  return spec.streams ? runStreamLocally(spec.fn, self, args) : runLocally(spec.fn, self, args);
}

function routineObject(value: unknown): RoutineObject | undefined {
  return typeof value === "function" && SPEC in value ? (value as RoutineObject) : undefined;
}

/** Runs a routine's function right here, as an ordinary asynchronous call. */
export async function runLocally(fn: AnyFunction, self: unknown, args: readonly unknown[]): Promise<unknown> {
  return await Reflect.apply(fn, self, args);
}

/** Runs a routine's generator right here. A synchronous one is made asynchronous. */
export function runStreamLocally(
  fn: AnyFunction,
  self: unknown,
  args: readonly unknown[],
): AsyncGenerator<unknown, unknown, unknown> {
  const generator: unknown = Reflect.apply(fn, self, args);
  if (isAsyncGenerator(generator)) return generator;
  return overSteps(generator as Generator<unknown, unknown, unknown>);
}

function isAsyncGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function* overSteps(generator: Generator<unknown, unknown, unknown>): AsyncGenerator<unknown, unknown, unknown> {
  return yield* generator;
}

registerTraveller("routine", {
  take: (value) => {
    const object = value as RoutineObject;
    const spec = object[SPEC];
    const { fn, options, method } = spec;
    const call = portableOptions(object[CALL_OPTIONS]);
    if (spec instanceof TargetSpec) return [undefined, spec.ownOptions, false, call, undefined, spec.facts];
    return [fn, options, method, call, spec.findName(), undefined, spec.streams];
  },
  make: () => {
    const shell = makeRoutine(new RoutineSpec(unfinished, {}, false)) as RoutineObject;
    return {
      value: shell,
      complete: ([fn, options, method, call, written, facts, streams]) => {
        const spec =
          facts === undefined
            ? new RoutineSpec(
                fn as AnyFunction,
                options as RoutineOptions,
                method === true,
                typeof written === "string" ? written : undefined,
                typeof streams === "boolean" ? streams : undefined,
              )
            : new TargetSpec(facts as TargetFacts, options as RoutineOptions);
        Object.defineProperty(shell, SPEC, { value: spec });
        Object.defineProperty(shell, CALL_OPTIONS, { value: call });
        Object.defineProperty(shell, "length", { value: spec.fn.length, configurable: true });
      },
    };
  },
});

/** The options of `with`, without those that only this process can use. */
function portableOptions(options: CallOptions | undefined): CallOptions | undefined {
  if (options === undefined) return undefined;
  const { signal: _signal, ...rest } = options;
  return withoutPool(rest);
}

function unfinished(): never {
  throw new InvalidArgument("this routine cannot be called yet: the value that holds it is still being decoded");
}
