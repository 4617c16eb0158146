import type { DiscoveryEvent, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { EventQueue, type Release } from "./event-queue.ts";
import { KnownWorkers } from "./known-workers.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** How a discovery feeds one subscription. */
export interface WorkerSink {
  /** Sets all workers that exist now. The subscriber gets the difference to the last call. */
  update(workers: Iterable<WorkerMetadata>): void;
  /** One worker is new, or may have changed. The cost does not depend on the number of workers. */
  change(worker: WorkerMetadata): void;
  /** The worker of this uid is gone. */
  drop(uid: string): void;
  /** Ends the iteration. */
  end(): void;
  /** Ends the iteration with an error, if a retry cannot help. */
  fail(error: unknown): void;
}

/**
 * A subscriber fed with snapshots or single changes. Each iteration calls `start` once, at its first `next()`, and the
 * function that `start` returned once, at its end.
 */
export function subscribeToWorkers(
  start: (sink: WorkerSink) => Release,
  filter?: WorkerFilter,
): DiscoverySubscriberLike {
  return {
    [Symbol.asyncIterator]: () =>
      new EventQueue<DiscoveryEvent>((queue) => {
        const known = new KnownWorkers(filter, (event) => queue.push(event));
        /** An error of the filter ends the iteration. */
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
