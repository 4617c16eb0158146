import { checkOption, must } from "../checks/index.ts";
import { DiscoveryError } from "../errors.ts";
import { checkWorker, type WorkerMetadata } from "./worker-metadata.ts";

/** What happened to a worker. */
export type DiscoveryEventType = "worker-added" | "worker-dropped" | "worker-updated";

/** A change in the set of known workers. For a dropped worker, `worker` is its last known metadata. */
export interface DiscoveryEvent {
  readonly type: DiscoveryEventType;
  readonly worker: WorkerMetadata;
}

/** Tells whether a subscriber wants to see a worker. */
export type WorkerFilter = (worker: WorkerMetadata) => boolean;

/** Announces workers to subscribers. */
export interface DiscoveryPublisherLike {
  /** Resolves when subscribers can see the change. */
  publish(type: DiscoveryEventType, worker: WorkerMetadata): Promise<void>;
}

/** A stream of changes that begins with the workers known when it is first read; each iteration is independent. */
export interface DiscoverySubscriberLike extends AsyncIterable<DiscoveryEvent> {}

/** A way to find workers, and perhaps to announce them. */
export interface DiscoveryLike {
  /** Absent when workers are announced in another way. */
  readonly publisher?: DiscoveryPublisherLike;
  /** Why it cannot find workers at the moment, for error messages; absent or `undefined` while it can. */
  readonly problem?: string | undefined;
  /** Changes of the workers that pass `filter`; a worker that starts or stops passing is added or dropped. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike;
}

/** The error for using a discovery after it was disposed of; `what` names it, such as `LanDiscovery("render")`. */
export function disposedError(what: string): DiscoveryError {
  return new DiscoveryError(
    `this ${what} was disposed of, because a pool disposes of the discovery that it was given: make a new one, or give the pool a URL or a function that makes one`,
  );
}

const TYPES = must.oneOf("worker-added", "worker-updated", "worker-dropped");

/**
 * Checks that subscribers can read a publication.
 * @throws InvalidArgument when the type is unknown or the metadata is malformed.
 */
export function checkPublication(type: DiscoveryEventType, worker: WorkerMetadata): void {
  checkOption(type, TYPES, "publish()", "type");
  checkWorker(worker);
}
