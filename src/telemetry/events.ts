import { AsyncResource } from "node:async_hooks";
import { channel } from "node:diagnostics_channel";
import { types } from "node:util";
import { checkFunction, describeValue, stackOf } from "../checks/index.ts";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";

/** What can happen to a worker of a pool or proxy. */
export type WorkerEventType = "worker-added" | "worker-dropped" | "worker-updated" | "worker-evicted";

/** Something happened to a worker, as seen by a pool or proxy of this process. */
export interface WorkerEvent {
  readonly type: WorkerEventType;
  readonly worker: WorkerMetadata;
  /** When it was seen, in milliseconds since the epoch. */
  readonly time: number;
  /** Why a worker was evicted. */
  readonly reason: Error | undefined;
}

/**
 * The stages of a task. `task-created`: the call was made. `task-scheduled`: a worker has it. `task-started` and
 * `task-stopped`: its code is entered and left, once for a call, once for each step of a stream. `task-completed`: the
 * caller has the outcome. The process that makes the call reports all of them. A worker that runs the task for another
 * process reports those from `task-scheduled` on.
 */
export type TaskEventType = "task-created" | "task-scheduled" | "task-started" | "task-stopped" | "task-completed";

/** How a task ended. */
export type TaskOutcome = "returned" | "threw" | "cancelled" | "timed-out" | "lost";

/** A task reached a stage. */
export interface TaskEvent {
  readonly type: TaskEventType;
  readonly task: {
    readonly id: string;
    /** Id of the task that made the call, if a task did. */
    readonly caller?: string;
    readonly name: string;
    /** The routine's name, and from `task-scheduled` on also the worker: `add@worker-7`. */
    readonly tag: string;
    readonly key?: string;
    readonly kind: "call" | "stream";
  };
  /** Uid of the worker that has the task, from `task-scheduled` on. */
  readonly worker?: string;
  /** When it happened, in milliseconds since the epoch, by the clock of this process. */
  readonly time: number;
  /** How the task ended, in `task-completed`. */
  readonly outcome?: TaskOutcome;
  /** The error, or the reason why the task did not end by itself, in `task-completed`. */
  readonly error?: unknown;
  /** How long it waited before its code was entered, in milliseconds, in `task-completed`. */
  readonly queued?: number;
  /** How long its code ran, in milliseconds, in `task-completed`; for a stream, the sum of its steps. */
  readonly ran?: number;
  /** How long it took from the call to the outcome, in milliseconds, in `task-completed`. */
  readonly total?: number;
}

/** The argument of `events.on`: a type, or `"task"` or `"worker"` for all types of a kind. */
export type EventSelector = WorkerEventType | TaskEventType | "task" | "worker";

/** The events that a selector selects. */
export type EventOf<S extends EventSelector> =
  | (S extends WorkerEventType | "worker" ? WorkerEvent : never)
  | (S extends TaskEventType | "task" ? TaskEvent : never);

type AnyEvent = WorkerEvent | TaskEvent;
type EventType = AnyEvent["type"];

interface Subscription {
  readonly handler: (event: AnyEvent) => void;
  failed: boolean;
}

const WORKER_TYPES: readonly WorkerEventType[] = ["worker-added", "worker-dropped", "worker-updated", "worker-evicted"];
const TASK_TYPES: readonly TaskEventType[] = [
  "task-created",
  "task-scheduled",
  "task-started",
  "task-stopped",
  "task-completed",
];
const TYPES: ReadonlyMap<string, readonly EventType[]> = new Map<string, readonly EventType[]>([
  ...[...TASK_TYPES, ...WORKER_TYPES].map((type) => [type, [type]] as const),
  ["task", TASK_TYPES],
  ["worker", WORKER_TYPES],
]);

const subscriptions = new Map<EventType, Set<Subscription>>();
const channels = new Map([...TASK_TYPES, ...WORKER_TYPES].map((type) => [type, channel(`wool:${type}`)] as const));
const created = channel("wool:task-created");
const scheduled = channel("wool:task-scheduled");
const started = channel("wool:task-started");
const stopped = channel("wool:task-stopped");
const completed = channel("wool:task-completed");
/** Handlers run outside the tasks and scopes of the events, because events of several of them are delivered together. */
const outside = new AsyncResource("WOOL_EVENTS");
let taskSubscriptions = 0;
let waiting: AnyEvent[] = [];

/**
 * Reports the calls that this process makes, the tasks that this task thread of a worker runs, and the workers of the
 * pools and proxies of this process. The same events are published on `node:diagnostics_channel`, as
 * `wool:task-created` and so on.
 */
export const events = {
  /**
   * Calls `handler` for each event of the given types, soon after it, until the returned object is disposed of. The
   * first error of a handler is reported as a warning. Errors of handlers change nothing else.
   *
   * @param types - a type, `"task"` or `"worker"` for all types of a kind, or a list of these
   * @throws InvalidArgument for an unknown type, and for a handler that is not a function
   */
  on<S extends EventSelector>(types: S | readonly S[], handler: (event: EventOf<S>) => void): Disposable {
    const selected = expand(types);
    checkFunction(handler, "events.on()", "a type and a function that gets the events");
    // Each handler is called with the events that it was registered for.
    const subscription: Subscription = { handler: handler as (event: AnyEvent) => void, failed: false };
    for (const type of selected) {
      const all = subscriptions.get(type) ?? new Set();
      subscriptions.set(type, all);
      all.add(subscription);
    }
    const tasks = TASK_TYPES.filter((type) => selected.has(type)).length;
    taskSubscriptions += tasks;
    let disposed = false;
    return {
      [Symbol.dispose]: () => {
        if (disposed) return;
        disposed = true;
        taskSubscriptions -= tasks;
        for (const type of selected) subscriptions.get(type)?.delete(subscription);
      },
    };
  },
};

function expand(types: unknown): ReadonlySet<EventType> {
  const list: readonly unknown[] = Array.isArray(types) ? types : [types];
  const known = list.map((type) => {
    const found = typeof type === "string" ? TYPES.get(type) : undefined;
    if (found !== undefined) return found;
    throw new InvalidArgument(`there are no events ${describeValue(type)}: use one of ${[...TYPES.keys()].join(", ")}`);
  });
  if (known.length === 0) throw new InvalidArgument("events.on() takes at least one type of event, not an empty list");
  return new Set(known.flat());
}

/** Whether there are observers of tasks. Called for each call, so without a loop. */
export function areTasksObserved(): boolean {
  return (
    taskSubscriptions > 0 ||
    created.hasSubscribers ||
    scheduled.hasSubscribers ||
    started.hasSubscribers ||
    stopped.hasSubscribers ||
    completed.hasSubscribers
  );
}

/** Reports a worker event to its observers. */
export function emitWorkerEvent(type: WorkerEventType, worker: WorkerMetadata, reason?: Error): void {
  if (isWanted(type)) emit({ type, worker, time: Date.now(), reason });
}

/** Reports a task event to its observers. */
export function emitTaskEvent(event: TaskEvent): void {
  if (isWanted(event.type)) emit(event);
}

function isWanted(type: EventType): boolean {
  return channels.get(type)?.hasSubscribers === true || (subscriptions.get(type)?.size ?? 0) > 0;
}

function emit(event: AnyEvent): void {
  waiting.push(event);
  if (waiting.length === 1) setImmediate(deliverOutside);
}

function deliverOutside(): void {
  outside.runInAsyncScope(deliver);
}

function deliver(): void {
  const delivered = waiting;
  waiting = [];
  for (const event of delivered) {
    channels.get(event.type)?.publish(event);
    for (const subscription of subscriptions.get(event.type) ?? []) call(subscription, event);
  }
}

function call(subscription: Subscription, event: AnyEvent): void {
  try {
    const outcome: unknown = subscription.handler(event);
    if (types.isPromise(outcome)) outcome.catch((error: unknown) => report(subscription, event, error));
  } catch (error) {
    report(subscription, event, error);
  }
}

function report(subscription: Subscription, event: AnyEvent, error: unknown): void {
  if (subscription.failed) return;
  subscription.failed = true;
  const reason = stackOf(error);
  process.emitWarning(`a handler of "${event.type}" events threw an error (reported once): ${reason}`, "WoolWarning");
}
