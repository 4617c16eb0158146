import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { type AnyFunction, isClass, isFunction, registerWrapping, usesReceiver } from "../functions/index.ts";
import { type CallOptions, checkRoutineOptions, type RoutineOptions } from "./options.ts";
import { makeRoutine } from "./routine-object.ts";
import { routineSpecOf } from "./routine-registry.ts";
import { RoutineSpec } from "./routine-spec.ts";
import { TargetSpec } from "./target-routine.ts";

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
 * Any function that returns `R`. The second signature, which every such function fulfils too, keeps the first one from
 * typing the parameters of a function literal: in `(x = 5) => x` the type of `x` is `number`, not `never`.
 */
export interface FunctionGiving<R> {
  (...args: never[]): R;
  <T extends never>(...args: T[]): R;
}

/** An asynchronous function. */
export type AsyncFunction = FunctionGiving<Promise<unknown>>;
/** An asynchronous generator function. */
export type AsyncGeneratorFunctionLike = FunctionGiving<AsyncGenerator<unknown, unknown, never>>;
/** A method that can be a routine and keep its type, since it returns a promise or an asynchronous generator. */
export type AsyncMethod = (...args: never[]) => Promise<unknown> | AsyncGenerator<unknown, unknown, never>;

/** Options of a routine whose function the workers have. */
export type TargetOptions = Omit<RoutineOptions, "serializer" | "ship">;

/**
 * The arguments of `routine.at` besides the target: generators need `streams: true`. A function that only throws is not
 * a generator, although `never` is part of every type.
 */
export type TargetArguments<F extends (...args: never[]) => unknown> = [ReturnType<F>] extends [never]
  ? [options?: TargetOptions & { readonly streams?: false }]
  : ReturnType<F> extends Generator<unknown, unknown, never> | AsyncGenerator<unknown, unknown, never>
    ? [options: TargetOptions & { readonly streams: true }]
    : [options?: TargetOptions & { readonly streams?: false }];

/** The routine for a function of type `F` that workers have. */
export type TargetRoutine<F extends (...args: never[]) => unknown> = [ReturnType<F>] extends [never]
  ? Routine<Parameters<F>, never>
  : ReturnType<F> extends Generator<infer Y, infer R, infer N> | AsyncGenerator<infer Y, infer R, infer N>
    ? StreamRoutine<Parameters<F>, Y, R, N>
    : Routine<Parameters<F>, Awaited<ReturnType<F>>>;

/** The context that standard decorators get for a method. */
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

/**
 * Makes a routine of a function, a generator or a method. It is called as before, and runs on a worker of the pool in
 * force. Throws `InvalidArgument` for anything that is not a function.
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
          "that uses it, or put @routine before its methods",
      );
    }
    if (second !== undefined) checkRoutineOptions(second, "routine()");
    return makeRoutine(
      routineSpecOf(first)?.derive(second ?? {}) ?? new RoutineSpec(first, second ?? {}, usesReceiver(first)),
    );
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

/**
 * Makes a routine of a function that workers have, named by language, module and name: `py:package.module:function`,
 * `node:./file.mjs#function` with a path from the working directory of the worker. Its calls go to workers that run that
 * language. In languages other than `node` values travel as JSON.
 *
 * Throws `InvalidArgument` for a target that names no language.
 */
routine.at = function at<F extends (...args: never[]) => unknown = (...args: unknown[]) => unknown>(
  target: string,
  ...[options]: TargetArguments<F>
): TargetRoutine<F> {
  const { streams = false, ...rest } = (options ?? {}) as TargetOptions & { streams?: boolean };
  checkRoutineOptions(rest, "routine.at()");
  return makeRoutine(new TargetSpec({ target, streams }, rest)) as TargetRoutine<F>;
};

function isPlainObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
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

registerWrapping({
  wrap: routine,
  unwrap: (value) => {
    const spec = routineSpecOf(value);
    if (spec === undefined || spec instanceof TargetSpec) return undefined;
    const { fn, policy, options } = spec;
    const along = options.serializer === undefined ? {} : { serializer: options.serializer };
    return { fn, name: () => spec.findName() ?? spec.name, policy, options: along };
  },
});
