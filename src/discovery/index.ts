export { announcingBeside } from "./announcing-beside.ts";
export { type ChannelOptions, parseChannelOptions } from "./channel-options.ts";
export type {
  DiscoveryEvent,
  DiscoveryEventType,
  DiscoveryLike,
  DiscoveryPublisherLike,
  DiscoverySubscriberLike,
  WorkerFilter,
} from "./discovery.ts";
export {
  checkDiscoveryUrl,
  discoveryUrlForms,
  type OpenDiscoveryOptions,
  openDiscovery,
  POOL_NAMESPACE,
  POOL_SCHEME,
  tagUrl,
} from "./discovery-url.ts";
export { type Factory, type Resolved, resolveDiscovery, resolveFactory } from "./factory.ts";
export { LanDiscovery, type LanDiscoveryOptions } from "./lan/index.ts";
export { LocalDiscovery, type LocalDiscoveryOptions } from "./local/index.ts";
export { machineInterfaces, reachOf } from "./network-addresses.ts";
export { StaticDiscovery, type StaticDiscoveryOptions } from "./static-discovery.ts";
export { addressProblem } from "./worker-address.ts";
export {
  checkWorker,
  runsLanguage,
  type WorkerDescription,
  type WorkerMetadata,
  workerFromJson,
  workerToJson,
} from "./worker-metadata.ts";
export { subscribeToWorkers } from "./worker-subscription.ts";
