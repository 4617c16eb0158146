import { describeValue, isObject } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import type { DiscoveryLike } from "./discovery.ts";
import { type OpenDiscoveryOptions, openDiscovery } from "./discovery-url.ts";
import { disposeOf, hasMethod } from "./dispose-of.ts";

/**
 * An instance, a promise of one, or a function that returns either. The receiver of the factory disposes of each of
 * them that is `AsyncDisposable` or `Disposable`.
 */
export type Factory<T extends object> = T | PromiseLike<T> | (() => T | PromiseLike<T>);

/** The result of a factory. */
export interface Resolved<T> {
  readonly value: T;
  /** Disposes of the value and then of the factory, if they are disposable. Idempotent. */
  dispose(): Promise<void>;
}

/**
 * Gets the instance out of a factory. `what` names it in messages.
 * @throws InvalidArgument when the factory is a class or does not return an object. Otherwise throws the error of the
 * factory.
 */
export async function resolveFactory<T extends object>(factory: Factory<T>, what = "factory"): Promise<Resolved<T>> {
  if (isClass(factory)) {
    throw new InvalidArgument(
      `${what}: ${describeValue(factory)} is a class: give an instance of it, or a function that returns one.`,
    );
  }
  const value = await produce(factory, what);
  let disposal: Promise<void> | undefined;
  return {
    value,
    dispose: () => (disposal ??= disposeOfBoth(value, factory)),
  };
}

/**
 * Gets the discovery out of a factory, or opens the one that a URL names.
 * @throws InvalidArgument when it returns something else. Otherwise throws the error of the factory.
 */
export async function resolveDiscovery(
  factory: Factory<DiscoveryLike> | string,
  options: OpenDiscoveryOptions = {},
): Promise<Resolved<DiscoveryLike>> {
  const resolved = await resolveFactory<DiscoveryLike>(
    typeof factory === "string" ? openDiscovery(factory, options) : factory,
    "discovery",
  );
  const problem = discoveryProblem(resolved.value);
  if (problem === undefined) return resolved;
  await resolved.dispose();
  throw new InvalidArgument(`discovery: ${describeValue(resolved.value)} is not a discovery: ${problem}.`);
}

/** Tells whether `value` has the shape of a `DiscoveryLike`. */
export function isDiscoveryLike(value: unknown): value is DiscoveryLike {
  return discoveryProblem(value) === undefined;
}

function discoveryProblem(value: unknown): string | undefined {
  if (!isObject(value)) return "it is not an object";
  if (!hasMethod(value, "subscribe")) return "it has no method subscribe(filter)";
  if (!("publisher" in value) || value.publisher === undefined) return undefined;
  return isObject(value.publisher) && hasMethod(value.publisher, "publish")
    ? undefined
    : "its publisher has no method publish(type, worker)";
}

async function produce<T extends object>(factory: Factory<T>, what: string): Promise<T> {
  try {
    const value = await (isProducer(factory) ? factory() : factory);
    if (isObject(value)) return value;
    const got = isProducer(factory)
      ? `${describeValue(factory)} returned ${describeValue(value)}`
      : `it is ${describeValue(value)}`;
    throw new InvalidArgument(`${what}: ${got}: give an object, a promise of one, or a function that returns either.`);
  } catch (error) {
    await disposeOf(factory);
    throw error;
  }
}

async function disposeOfBoth(value: object, factory: object): Promise<void> {
  try {
    await disposeOf(value);
  } finally {
    if (factory !== value) await disposeOf(factory);
  }
}

function isProducer<T extends object>(factory: Factory<T>): factory is () => T | PromiseLike<T> {
  return typeof factory === "function";
}

function isClass(value: unknown): boolean {
  return typeof value === "function" && /^class\b/.test(Function.prototype.toString.call(value));
}
