import { registerCallerExports } from "./caller-exports.ts";
import { registerTaskExports } from "./task-exports.ts";

export {
  ConsistentHashLoadBalancer,
  type ConsistentHashOptions,
  type DispatchableTask,
  type DispatchingLoadBalancerLike,
  type DispatchOptions,
  type DispatchOutcome,
  LeastLoadedLoadBalancer,
  LoadBalancerContext,
  type LoadBalancerContextView,
  type LoadBalancerLike,
  PowerOfTwoLoadBalancer,
  type PowerOfTwoOptions,
  type ResultStream,
  RoundRobinLoadBalancer,
  type SendOptions,
  type TaskInfo,
} from "./balancing/index.ts";
export { type AmbientOptions, ContextVar, type ContextVarOptions, runtimeContext } from "./context/index.ts";
export {
  type ChannelOptions,
  type DiscoveryEvent,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  type DiscoverySubscriberLike,
  type Factory,
  LanDiscovery,
  type LanDiscoveryOptions,
  LocalDiscovery,
  type LocalDiscoveryOptions,
  type OpenDiscoveryOptions,
  openDiscovery,
  StaticDiscovery,
  type StaticDiscoveryOptions,
  type WorkerFilter,
  type WorkerMetadata,
} from "./discovery/index.ts";
export * from "./errors.ts";
export {
  type ExplainedPart,
  type ExplainOptions,
  type Explanation,
  type ModulePattern,
  type Refusal,
  type Stability,
  shipping,
} from "./functions/index.ts";
export type { MapOptions, PoolOptions, Progress } from "./pool/index.ts";
export { WorkerPool } from "./pool/index.ts";
export {
  type BroadcastResult,
  type MemberStats,
  type PoolStats,
  WorkerConnection,
  type WorkerConnectionOptions,
  WorkerProxy,
  type WorkerProxyOptions,
  type WorkerStats,
} from "./proxy/index.ts";
export {
  type AsyncFunction,
  type AsyncGeneratorFunctionLike,
  type AsyncMethod,
  type CallOptions,
  currentTask,
  type FunctionGiving,
  type MethodContext,
  type PerWorker,
  type PoolLike,
  perWorker,
  type Routine,
  type RoutineDecorator,
  type RoutineOf,
  type RoutineOptions,
  routine,
  type StreamRoutine,
  type TargetArguments,
  type TargetOptions,
  type TargetRoutine,
  type Task,
} from "./routine/index.ts";
export {
  type CredentialsFiles,
  type CredentialsLike,
  type CredentialsMaterial,
  type PEM,
  type PeerIdentity,
  type ProviderOptions,
  WorkerCredentials,
  WorkerCredentialsProvider,
} from "./security/index.ts";
export { type Shared, share } from "./sharing/index.ts";
export {
  type EventOf,
  type EventSelector,
  events,
  type TaskEvent,
  type TaskEventType,
  type TaskOutcome,
  type WorkerEvent,
  type WorkerEventType,
} from "./telemetry/index.ts";
export type { Serializer } from "./values/index.ts";
export type { CallerLimits, ConnectionLimits } from "./wire/index.ts";
export {
  type AuthorizeContext,
  type AuthorizeLike,
  type BackpressureContext,
  type BackpressureLike,
  LocalWorker,
  ResilientWorker,
  type RestartOptions,
  Worker,
  type WorkerChange,
  type WorkerFactory,
  type WorkerLike,
  type WorkerLimits,
  type WorkerListener,
  type WorkerOptions,
} from "./worker/index.ts";

registerTaskExports();
registerCallerExports();
