import { AsyncLocalStorage } from "node:async_hooks";
import type { CallCarrier } from "./call-carrier.ts";
import type { CallOptions } from "./options.ts";
import type { TaskRecord } from "./task.ts";

/** The pool, task, context variables and options of the code that runs now, and of its calls. Immutable: `pool.run` and the like make a new one. */
export interface CallContext {
  /** The pool or proxy that routines are dispatched through. */
  readonly carrier?: CallCarrier | undefined;
  /** The task that is running. */
  readonly task?: TaskRecord | undefined;
  /** Context variables that were set, by key. */
  readonly variables?: ReadonlyMap<string, unknown> | undefined;
  /** Call options in force for every call made in this context. */
  readonly ambient?: CallOptions | undefined;
  /** Told of the calls that are made. */
  readonly calls?: CallObserver | undefined;
}

/** Told when a call is made, and when it has ended. */
export interface CallObserver {
  made(): void;
  ended(): void;
}

interface SharedRuntime {
  readonly contexts: AsyncLocalStorage<CallContext>;
  /** Started pools that are still open, the newest last. */
  readonly open: CallCarrier[];
  /** Set once a pool was started. */
  hasHadPool?: boolean;
  /** Set where a worker runs tasks. */
  isTaskThread?: boolean;
}

const SHARED = Symbol.for("wool-ts.runtime.v2");

/** One for the process, also when two copies of the package are loaded: their scopes must see each other. */
function sharedRuntime(): SharedRuntime {
  const holder = globalThis as { [SHARED]?: SharedRuntime };
  holder[SHARED] ??= { contexts: new AsyncLocalStorage<CallContext>(), open: [] };
  return holder[SHARED];
}

const runtime = sharedRuntime();

export function currentCallContext(): CallContext | undefined {
  return runtime.contexts.getStore();
}

/** Runs `fn` with the current context changed by `changes`. */
export function extendCallContext<R>(changes: CallContext, fn: () => R): R {
  const current = runtime.contexts.getStore();
  return runtime.contexts.run(current === undefined ? changes : { ...current, ...changes }, fn);
}

/** Runs `fn` with exactly this context. */
export function runInCallContext<A extends unknown[], R>(context: CallContext, fn: (...args: A) => R, ...args: A): R {
  return runtime.contexts.run(context, fn, ...args);
}

/** Declares that this thread runs the tasks of a worker, and nothing else. */
export function markTaskThread(): void {
  runtime.isTaskThread = true;
}

/** True in a thread of a worker that runs tasks. */
export function isInTaskThread(): boolean {
  return runtime.isTaskThread === true;
}

/** True in a task thread for code outside of tasks: a module that is being loaded, and its callbacks. */
export function isOutsideTasks(): boolean {
  return isInTaskThread() && currentCallContext()?.task === undefined;
}

/** Makes this the pool for calls outside of any `pool.run`. */
export function addOpenPool(carrier: CallCarrier): void {
  runtime.open.push(carrier);
  runtime.hasHadPool = true;
}

export function removeOpenPool(carrier: CallCarrier): void {
  const index = runtime.open.indexOf(carrier);
  if (index >= 0) runtime.open.splice(index, 1);
}

/** True when pools were started here and all of them have been stopped. */
export function areAllPoolsClosed(): boolean {
  return runtime.hasHadPool === true && runtime.open.length === 0;
}

/** The pool of the innermost `pool.run`, else the most recently started one that is open, else none. */
export function currentPool(context: CallContext | undefined): CallCarrier | undefined {
  return context?.carrier ?? runtime.open[runtime.open.length - 1];
}
