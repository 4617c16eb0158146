import type { DiscoveryEvent, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { EventQueue, type Release } from "./event-queue.ts";
import { diffWorkers, mapWorkers, type WorkerMap } from "./worker-diff.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

/** What a discovery tells one subscription. */
export interface WorkerSink {
  /** All workers that exist now; the subscriber gets the difference to the last time. */
  update(workers: Iterable<WorkerMetadata>): void;
  /** Ends the iteration. */
  end(): void;
  /** Ends the iteration with an error: for what no retry can repair. */
  fail(error: unknown): void;
}

/**
 * A subscriber fed with snapshots. Each iteration calls `start` once, at its first `next()`, and what that returned
 * once, when it is over.
 */
export function subscribeToWorkers(
  start: (sink: WorkerSink) => Release,
  filter?: WorkerFilter,
): DiscoverySubscriberLike {
  return {
    [Symbol.asyncIterator]: () =>
      new EventQueue<DiscoveryEvent>((queue) => {
        let known: WorkerMap = new Map();
        return start({
          update(workers) {
            let visible: WorkerMap;
            try {
              visible = mapWorkers(workers, filter);
            } catch (error) {
              queue.fail(error);
              return;
            }
            for (const event of diffWorkers(known, visible)) queue.push(event);
            known = visible;
          },
          end: () => queue.end(),
          fail: (error) => queue.fail(error),
        });
      }),
  };
}
