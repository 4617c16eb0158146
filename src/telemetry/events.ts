import { channel } from "node:diagnostics_channel";
import { checkFunction, describeValue } from "../checks/index.ts";
import type { WorkerMetadata } from "../discovery/index.ts";
import { InvalidArgument } from "../errors.ts";

/** What can happen to a worker of a pool or proxy. */
export type WorkerEventType = "worker-added" | "worker-dropped" | "worker-updated" | "worker-evicted";

/** Something happened to a worker, as a pool or proxy of this process sees it. */
export interface WorkerEvent {
  readonly type: WorkerEventType;
  readonly worker: WorkerMetadata;
  /** When it was seen, in milliseconds since the epoch. */
  readonly time: number;
  /** Why a worker was evicted: its unexpected response. */
  readonly reason: Error | undefined;
}

interface Subscription {
  readonly handler: (event: WorkerEvent) => void;
  failed: boolean;
}

const subscriptions = new Map<WorkerEventType, Set<Subscription>>();
const types: ReadonlySet<string> = new Set<WorkerEventType>([
  "worker-added",
  "worker-dropped",
  "worker-updated",
  "worker-evicted",
]);
let waiting: WorkerEvent[] = [];

/**
 * Events about the workers of the pools and proxies of this process. The same events are published on
 * `node:diagnostics_channel`, as `wool:worker-evicted` and so on.
 */
export const events = {
  /**
   * Calls `handler` for each event of a type, soon after it, until the returned object is disposed of. An error that a
   * handler throws is reported once, as a warning, and changes nothing.
   *
   * @throws InvalidArgument for an unknown type, and for a handler that is not a function
   */
  on(type: WorkerEventType, handler: (event: WorkerEvent) => void): Disposable {
    if (!types.has(type)) {
      throw new InvalidArgument(`there is no event type ${describeValue(type)}: use one of ${[...types].join(", ")}`);
    }
    checkFunction(handler, "events.on()", "a type and a function that is told of the events");
    const subscription: Subscription = { handler, failed: false };
    const all = subscriptions.get(type) ?? new Set();
    subscriptions.set(type, all);
    all.add(subscription);
    return { [Symbol.dispose]: () => void all.delete(subscription) };
  },
};

/** Publishes an event about a worker. */
export function emitWorkerEvent(type: WorkerEventType, worker: WorkerMetadata, reason?: Error): void {
  const published = channel(`wool:${type}`);
  if (!published.hasSubscribers && (subscriptions.get(type)?.size ?? 0) === 0) return;
  waiting.push({ type, worker, time: Date.now(), reason });
  if (waiting.length === 1) setImmediate(deliver);
}

function deliver(): void {
  const delivered = waiting;
  waiting = [];
  for (const event of delivered) {
    channel(`wool:${event.type}`).publish(event);
    for (const subscription of subscriptions.get(event.type) ?? []) call(subscription, event);
  }
}

function call(subscription: Subscription, event: WorkerEvent): void {
  try {
    subscription.handler(event);
  } catch (error) {
    if (subscription.failed) return;
    subscription.failed = true;
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    process.emitWarning(
      `a handler of "${event.type}" events threw; further errors of it are not reported: ${reason}`,
      "WoolWarning",
    );
  }
}
