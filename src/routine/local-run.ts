import type { AnyFunction } from "./routine-spec.ts";

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
