import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import type { DiscoveryEventType } from "./discovery.ts";
import { checkWorker, type WorkerMetadata } from "./worker-metadata.ts";

const TYPES: ReadonlySet<string> = new Set<DiscoveryEventType>(["worker-added", "worker-dropped", "worker-updated"]);

/**
 * Makes sure that what is about to be published can be read back by subscribers.
 * @throws InvalidArgument when the type is unknown or the metadata is malformed.
 */
export function checkPublication(type: DiscoveryEventType, worker: WorkerMetadata): void {
  if (!TYPES.has(type)) {
    throw new InvalidArgument(
      `${describeValue(type)} is no discovery event: use "worker-added", "worker-updated" or "worker-dropped".`,
    );
  }
  checkWorker(worker);
}
