import { AsyncLocalStorage } from "node:async_hooks";
import type { Dispatcher } from "./dispatcher.ts";
import type { CallOptions } from "./options.ts";
import type { Task } from "./task.ts";

/** What is in force for the code that runs now, and for what it calls. Immutable: a scope makes a new one. */
export interface Frame {
  /** The pool or proxy that routines are dispatched through. */
  readonly dispatcher?: Dispatcher | undefined;
  /** The task that is running. */
  readonly task?: Task | undefined;
  /** Context variables that were set, by key. */
  readonly variables?: ReadonlyMap<string, unknown> | undefined;
  /** Call options in force for every call made in this scope. */
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
  readonly frames: AsyncLocalStorage<Frame>;
  /** Started pools that are still open, the newest last. */
  readonly open: Dispatcher[];
  /** Set where a worker runs tasks. */
  isTaskThread?: boolean;
}

const SHARED = Symbol.for("wool-ts.runtime.v1");

/** One for the process, also when two copies of the package are loaded: their scopes must see each other. */
function sharedRuntime(): SharedRuntime {
  const holder = globalThis as { [SHARED]?: SharedRuntime };
  holder[SHARED] ??= { frames: new AsyncLocalStorage<Frame>(), open: [] };
  return holder[SHARED];
}

const runtime = sharedRuntime();

export function currentFrame(): Frame | undefined {
  return runtime.frames.getStore();
}

/** Runs `fn` with the current frame changed by `changes`. */
export function runInFrame<R>(changes: Frame, fn: () => R): R {
  const current = runtime.frames.getStore();
  return runtime.frames.run(current === undefined ? changes : { ...current, ...changes }, fn);
}

/** Runs `fn` with exactly this frame. */
export function runWithFrame<A extends unknown[], R>(frame: Frame, fn: (...args: A) => R, ...args: A): R {
  return runtime.frames.run(frame, fn, ...args);
}

/** Makes this thread one that runs the tasks of a worker, and nothing else. */
export function markTaskThread(): void {
  runtime.isTaskThread = true;
}

/** True in a thread of a worker for code that no task runs: that of a module which is being loaded, and its callbacks. */
export function isBesidesTasks(): boolean {
  return runtime.isTaskThread === true && currentFrame()?.task === undefined;
}

/** Makes a pool the one that calls outside of any scope use. */
export function addOpenDispatcher(dispatcher: Dispatcher): void {
  runtime.open.push(dispatcher);
}

export function removeOpenDispatcher(dispatcher: Dispatcher): void {
  const index = runtime.open.indexOf(dispatcher);
  if (index >= 0) runtime.open.splice(index, 1);
}

/** The pool of the innermost scope, else the most recently started one that is open, else none. */
export function currentDispatcher(frame: Frame | undefined): Dispatcher | undefined {
  return frame?.dispatcher ?? runtime.open[runtime.open.length - 1];
}
