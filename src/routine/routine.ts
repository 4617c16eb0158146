import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { isClass, registerWrapping } from "../functions/index.ts";
import { registerTraveller, traveller } from "../values/index.ts";
import { type CallCarrier, isCallCarrier } from "./call-carrier.ts";
import { currentCallContext, currentPool } from "./call-context.ts";
import { runLocally, runStreamLocally } from "./local-run.ts";
import { type CallOptions, checkCallOptions, checkRoutineOptions, type RoutineOptions } from "./options.ts";
import { routineSpecOf, SPEC } from "./routine-registry.ts";
import { type AnyFunction, RoutineSpec } from "./routine-spec.ts";

/** A function that runs on a worker when it is called. */
export interface Routine<A extends unknown[], R> {
  /** Dispatches at the call. Outside of any pool it runs right here. */
  (...args: A): Promise<R>;
  /** The same routine with options for its calls. */
  with(options: CallOptions): Routine<A, R>;
  /** Runs here and never dispatches. */
  local(...args: A): Promise<R>;
}

/** A generator that runs on a worker, one step for each `next()`. */
export interface StreamRoutine<A extends unknown[], Y, R, N> {
  /** Dispatches at the first `next()`. Outside of any pool it runs right here. */
  (...args: A): AsyncGenerator<Y, R, N>;
  /** The same routine with options for its calls. */
  with(options: CallOptions): StreamRoutine<A, Y, R, N>;
  /** Runs here and never dispatches. */
  local(...args: A): AsyncGenerator<Y, R, N>;
}

/** An asynchronous function as a routine: its own signature, generics and overloads included. */
export type RoutineOf<F> = F & {
  /** The same routine with options for its calls. */
  with(options: CallOptions): RoutineOf<F>;
  /** Runs here and never dispatches. */
  local: F;
};

/**
 * Any function that gives `R`. The second signature, which every such function fulfils as well, keeps the first from
 * giving types to the parameters of a function literal: `(x = 5) => x` is to have a number for `x`, and not `never`.
 */
export interface FunctionGiving<R> {
  (...args: never[]): R;
  <T extends never>(...args: T[]): R;
}

/** An asynchronous function. */
export type AsyncFunction = FunctionGiving<Promise<unknown>>;
/** An asynchronous generator function. */
export type AsyncGeneratorFunctionLike = FunctionGiving<AsyncGenerator<unknown, unknown, never>>;
/** A method that can be a routine and keep its type: its calls give promises or asynchronous generators already. */
export type AsyncMethod = (...args: never[]) => Promise<unknown> | AsyncGenerator<unknown, unknown, never>;

/** What a decorator of the standard kind is told of a method. */
export interface MethodContext {
  readonly kind: "method";
  readonly name: string | symbol;
  readonly static: boolean;
}

/** Decorates asynchronous methods in both decorator dialects. */
export interface RoutineDecorator {
  <F extends AsyncMethod>(method: F, context: MethodContext): F;
  <F extends AsyncMethod>(
    target: object,
    key: string | symbol,
    descriptor: TypedPropertyDescriptor<F>,
  ): TypedPropertyDescriptor<F>;
}

const CALL_OPTIONS = Symbol.for("wool-ts.routine.options");

/** The shape that all routines share at run time. */
interface RoutineObject {
  (this: unknown, ...args: unknown[]): unknown;
  [SPEC]: RoutineSpec;
  /** What `with` said. */
  [CALL_OPTIONS]: CallOptions | undefined;
  with(options: CallOptions): RoutineObject;
  local(...args: unknown[]): unknown;
}

/**
 * Makes a function, a generator or a method remotely executable. What comes back is called as before, and runs on a
 * worker of the pool in force. Throws `InvalidArgument` for anything that is not a function.
 */
export function routine<F extends AsyncMethod>(method: F, context: MethodContext): F;
export function routine<F extends AsyncFunction>(fn: F, options?: RoutineOptions): RoutineOf<F>;
export function routine<F extends AsyncGeneratorFunctionLike>(fn: F, options?: RoutineOptions): RoutineOf<F>;
export function routine<A extends unknown[], Y, R, N>(
  fn: (...args: A) => Generator<Y, R, N>,
  options?: RoutineOptions,
): StreamRoutine<A, Y, R, N>;
export function routine<A extends unknown[], R>(
  fn: (...args: A) => R,
  options?: RoutineOptions,
): Routine<A, Awaited<R>>;
export function routine<F extends AsyncMethod>(
  target: object,
  key: string | symbol,
  descriptor: TypedPropertyDescriptor<F>,
): TypedPropertyDescriptor<F>;
export function routine(options: RoutineOptions): RoutineDecorator;
export function routine(...args: unknown[]): unknown {
  const [first, second, third] = args;
  if (typeof second === "string" || typeof second === "symbol") return decorateProperty(third, {}, second);
  if (isMethodContext(second)) return decorateMethod(first, second, {});
  if (isFunction(first)) {
    if (isClass(first)) {
      throw new InvalidArgument(
        `routine() takes a function, and ${first.name || "this one"} is a class: write routine(async (...args) => ...) ` +
          "with what to do with it, or put @routine before its methods",
      );
    }
    if (second !== undefined) checkRoutineOptions(second, "routine()");
    return makeRoutine(routineSpecOf(first)?.derive(second ?? {}) ?? new RoutineSpec(first, second ?? {}, false));
  }
  if (args.length === 1 && isPlainObject(first)) {
    checkRoutineOptions(first, "routine()");
    return (target: unknown, context: unknown, descriptor: unknown): unknown =>
      typeof context === "string" || typeof context === "symbol"
        ? decorateProperty(descriptor, first, context)
        : decorateMethod(target, context, first);
  }
  throw new InvalidArgument(
    `routine() takes a function or a generator function, not ${describeValue(first)}; write routine(async () => ...)`,
  );
}

function routineObject(value: unknown): RoutineObject | undefined {
  return typeof value === "function" && SPEC in value ? (value as RoutineObject) : undefined;
}

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function isFunction(value: unknown): value is AnyFunction {
  return typeof value === "function";
}

function isMethodContext(value: unknown): value is ClassMethodDecoratorContext {
  return typeof value === "object" && value !== null && "kind" in value && "addInitializer" in value;
}

function decorateMethod(method: unknown, context: unknown, options: RoutineOptions): unknown {
  if (!isMethodContext(context) || context.kind !== "method" || !isFunction(method)) {
    const kind = isMethodContext(context) ? `a ${context.kind}` : describeValue(method);
    throw new InvalidArgument(`@routine decorates methods, not ${kind}; write routine(fn) for anything else`);
  }
  return makeMethod(method, options, context.name);
}

function decorateProperty(descriptor: unknown, options: RoutineOptions, key: string | symbol): unknown {
  const method: unknown =
    typeof descriptor === "object" && descriptor !== null && "value" in descriptor ? descriptor.value : undefined;
  if (!isFunction(method)) {
    throw new InvalidArgument(`@routine decorates methods, and ${String(key)} is not one; write routine(fn) instead`);
  }
  return { ...(descriptor as PropertyDescriptor), value: makeMethod(method, options, key) };
}

function makeMethod(method: AnyFunction, options: RoutineOptions, key: string | symbol): unknown {
  const name = options.name ?? (typeof key === "string" ? key : (key.description ?? "method"));
  const inner = routineSpecOf(method)?.fn ?? method;
  return makeRoutine(new RoutineSpec(inner, { ...options, name }, true));
}

/** The object that users call. */
function makeRoutine(spec: RoutineSpec, options?: CallOptions): unknown {
  const chosen = isCallCarrier(options?.pool) ? options.pool : undefined;
  const object = function (this: unknown, ...args: unknown[]): unknown {
    const own = object[SPEC];
    const carrier = chosen ?? currentPool(currentCallContext());
    if (carrier === undefined) return invokeHere(own, this, args);
    return dispatch(carrier, own, own.method ? [this, ...args] : args, object[CALL_OPTIONS]);
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

/** Sends a call through a pool. A function rejects; a generator fails at its first step. */
export function dispatch(
  carrier: CallCarrier,
  spec: RoutineSpec,
  args: readonly unknown[],
  options: CallOptions | undefined,
): Promise<unknown> | AsyncGenerator<unknown, unknown, unknown> {
  return spec.streams ? carrier.stream(spec, args, options) : carrier.call(spec, args, options);
}

/** Calls a routine through a pool, whatever pool is in force. Throws `InvalidArgument` for what is not a routine. */
export function dispatchThrough<A extends unknown[], T>(
  carrier: CallCarrier,
  routine: (...args: A) => T,
  args: A,
  options?: CallOptions,
): T {
  const object = requireRoutine(routine);
  const merged = { ...object[CALL_OPTIONS], ...options };
  const spec = object[SPEC];
  return dispatch(
    carrier,
    spec,
    spec.method ? [undefined, ...args] : args,
    Object.keys(merged).length === 0 ? undefined : merged,
  ) as T;
}

/** The spec of a routine that is not a generator. Throws `InvalidArgument` for anything else. */
export function requireFunctionRoutine(routine: unknown, user: string): RoutineSpec {
  const spec = requireRoutine(routine)[SPEC];
  if (!spec.streams) return spec;
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

registerWrapping({
  wrap: routine,
  unwrap: (value) => {
    const spec = routineSpecOf(value);
    if (spec === undefined) return undefined;
    const { fn, policy, options } = spec;
    const along = options.serializer === undefined ? {} : { serializer: options.serializer };
    return { fn, name: () => spec.findName() ?? spec.name, policy, options: along };
  },
});

registerTraveller("routine", {
  take: (value) => {
    const object = value as RoutineObject;
    const { fn, options, method } = object[SPEC];
    return [fn, options, method, portableOptions(object[CALL_OPTIONS]), object[SPEC].findName()];
  },
  make: () => {
    const shell = makeRoutine(new RoutineSpec(unfinished, {}, false)) as RoutineObject;
    return {
      value: shell,
      complete: ([fn, options, method, call, written]) => {
        const spec = new RoutineSpec(
          fn as AnyFunction,
          options as RoutineOptions,
          method === true,
          typeof written === "string" ? written : undefined,
        );
        Object.defineProperty(shell, SPEC, { value: spec });
        Object.defineProperty(shell, CALL_OPTIONS, { value: call });
        Object.defineProperty(shell, "length", { value: spec.fn.length, configurable: true });
      },
    };
  },
});

/** What `with` said, without what means something in one process only. */
function portableOptions(options: CallOptions | undefined): CallOptions | undefined {
  if (options === undefined) return undefined;
  const { signal: _signal, pool: _pool, ...rest } = options;
  return rest;
}

function unfinished(): never {
  throw new InvalidArgument("this routine is still being put together");
}
