import { types } from "node:util";
import { takeArrivedSignals } from "../../call/index.ts";
import { describeValue } from "../../checks/index.ts";
import { type CallContext, runInCallContext, trimStack } from "../../routine/index.ts";
import { NO_COLLECTIONS, serializerOfThrown, type WeakCollection } from "../../values/index.ts";
import { ResponseField } from "../../wire/index.ts";
import type { RunningTask } from "./running-task.ts";
import { isWoolError, untransportable } from "./task-errors.ts";

/** The code of a task. */
export type TaskFunction = (this: unknown, ...args: unknown[]) => unknown;

// oxlint-disable-next-line unbound-method -- it is given its promise when it is called
const promiseThen = Promise.prototype.then;
const { apply } = Reflect;

/** The arguments as a list. Throws for any other value: a serializer may decode bytes to anything. */
export function argumentList(args: unknown, name: string): unknown[] {
  if (Array.isArray(args)) return args as unknown[];
  if (args === undefined) return [];
  throw new TypeError(`the arguments of ${name} are ${describeValue(args)}, not a list`);
}

/** Connects a task to the signals and weak collections among its decoded arguments. */
export function connectArguments(task: RunningTask): void {
  const { session, routine } = task;
  const passed = routine.hasSerializer ? NO_COLLECTIONS : session.decoder.weakCollections;
  task.weak = passed.length === 0 ? routine.weak : [...routine.weak, ...passed];
  const signals = takeArrivedSignals();
  if (signals !== undefined) task.connectSignals(signals);
}

/**
 * The promise that `await` would wait for. The `then` of a value that is not a promise is code of the task, and runs in
 * its call context.
 */
export function promiseOf(value: object, callContext: CallContext): Promise<unknown> {
  if (types.isPromise(value) && value.constructor === Promise) return value;
  return runInCallContext(callContext, toPromise, value);
}

function toPromise(value: object): Promise<unknown> {
  return Promise.resolve(value);
}

/** Waits for a promise as `await` does: a `then` property of the promise itself is ignored. */
export function whenSettled(
  promise: Promise<unknown>,
  returned: (value: unknown) => void,
  threw: (error: unknown) => void,
): void {
  void apply(promiseThen, promise, [returned, threw]);
}

/**
 * Sends the error of a task, or the reason why it ends.
 *
 * @param weak - the weak collections that its code knows
 * @param item - the number of the call in its pack, from 1
 */
export function sendError(
  task: RunningTask,
  error: unknown,
  weak: readonly WeakCollection[] = task.weak,
  item = 0,
): void {
  const { session, routine, wireId } = task;
  try {
    trimStack(error);
    // The routine's serializer may not know the errors of the runtime.
    const byRuntime = routine.hasSerializer && !routine.isForeign && isWoolError(error);
    const serializer = byRuntime ? undefined : serializerOfThrown(routine.serializer());
    session.outcome(ResponseField.raised, wireId, error, serializer, byRuntime, weak, item);
  } catch (cause) {
    const told = untransportable(routine.name, error, cause);
    const serializer = routine.isForeign ? serializerOfThrown(routine.serializer()) : undefined;
    const byRuntime = serializer === undefined && routine.hasSerializer;
    session.outcome(ResponseField.raised, wireId, told, serializer, byRuntime, NO_COLLECTIONS, item);
  }
}
