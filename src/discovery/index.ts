export { type ChannelOptions, parseChannelOptions } from "./channel-options.ts";
export type {
  DiscoveryEvent,
  DiscoveryEventType,
  DiscoveryLike,
  DiscoveryPublisherLike,
  DiscoverySubscriberLike,
  WorkerFilter,
} from "./discovery.ts";
export { EventQueue, type EventSink, type Release } from "./event-queue.ts";
export { type Factory, isDiscoveryLike, type Resolved, resolveDiscovery, resolveFactory } from "./factory.ts";
export { LocalDiscovery, type LocalDiscoveryOptions } from "./local-discovery.ts";
export { checkPublication } from "./publication.ts";
export { StaticDiscovery, type StaticDiscoveryOptions } from "./static-discovery.ts";
export { addressProblem } from "./worker-address.ts";
export { diffWorkers, mapWorkers, type WorkerMap } from "./worker-diff.ts";
export {
  checkWorker,
  equalWorkers,
  type ParsedWorker,
  type WorkerMetadata,
  type WorkerMetadataJson,
  workerFromJson,
  workerToJson,
} from "./worker-metadata.ts";
export { subscribeToWorkers, type WorkerSink } from "./worker-subscription.ts";
