import type { DiscoveryEvent, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { EventQueue, type Release } from "./event-queue.ts";
import { KnownWorkers } from "./known-workers.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** What a discovery tells one subscription. */
export interface WorkerSink {
  /** All workers that exist now; the subscriber gets the difference to the last time. */
  update(workers: Iterable<WorkerMetadata>): void;
  /** One worker is new, or may have changed. Costs the same however many others there are. */
  change(worker: WorkerMetadata): void;
  /** The worker of this uid is gone. */
  drop(uid: string): void;
  /** Ends the iteration. */
  end(): void;
  /** Ends the iteration with an error: for what no retry can repair. */
  fail(error: unknown): void;
}

/**
 * A subscriber fed with snapshots or single changes. Each iteration calls `start` once, at its first `next()`, and what
 * that returned once, when it is over.
 */
export function subscribeToWorkers(
  start: (sink: WorkerSink) => Release,
  filter?: WorkerFilter,
): DiscoverySubscriberLike {
  return {
    [Symbol.asyncIterator]: () =>
      new EventQueue<DiscoveryEvent>((queue) => {
        const known = new KnownWorkers(filter, (event) => queue.push(event));
        /** What the filter throws ends the iteration. */
        const guarded = (operation: () => void): void => {
          try {
            operation();
          } catch (error) {
            queue.fail(error);
          }
        };
        return start({
          update: (workers) => guarded(() => known.replace(workers)),
          change: (worker) => guarded(() => known.change(worker)),
          drop: (uid) => known.drop(uid),
          end: () => queue.end(),
          fail: (error) => queue.fail(error),
        });
      }),
  };
}
