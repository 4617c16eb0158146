import * as balancing from "./balancing/index.ts";
import { ContextVar } from "./context/context-var.ts";
import { runtimeContext } from "./context/runtime-context.ts";
import { LocalDiscovery, StaticDiscovery } from "./discovery/index.ts";
import * as errors from "./errors.ts";
import { Cell, registerRuntimeExports, shipping } from "./functions/index.ts";
import { WorkerPool } from "./pool/worker-pool.ts";
import { WorkerConnection, WorkerProxy } from "./proxy/index.ts";
import { routine } from "./routine/routine.ts";
import { currentTask } from "./routine/task.ts";
import { events } from "./telemetry/events.ts";
import { LocalWorker, ResilientWorker, Worker } from "./worker/index.ts";

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
export { ContextVar, type ContextVarOptions } from "./context/context-var.ts";
export { type AmbientOptions, runtimeContext } from "./context/runtime-context.ts";
export {
  type ChannelOptions,
  type DiscoveryEvent,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  type DiscoverySubscriberLike,
  type Factory,
  LocalDiscovery,
  type LocalDiscoveryOptions,
  StaticDiscovery,
  type WorkerMetadata,
} from "./discovery/index.ts";
export * from "./errors.ts";
export {
  type ExplainedPart,
  type ExplainOptions,
  type Explanation,
  type Refusal,
  shipping,
} from "./functions/index.ts";
export type { MapOptions, Progress } from "./pool/map.ts";
export type { PoolOptions } from "./pool/pool-options.ts";
export { WorkerPool } from "./pool/worker-pool.ts";
export {
  type BroadcastResult,
  type MemberStats,
  type PoolStats,
  WorkerConnection,
  WorkerProxy,
  type WorkerProxyOptions,
  type WorkerStats,
} from "./proxy/index.ts";
export type { CallOptions, RoutineOptions } from "./routine/options.ts";
export { type Routine, type RoutineDecorator, type RoutineOf, routine, type StreamRoutine } from "./routine/routine.ts";
export { currentTask, type Task } from "./routine/task.ts";
export { events, type WorkerEvent, type WorkerEventType } from "./telemetry/events.ts";
export type { Serializer } from "./values/index.ts";
export {
  type BackpressureContext,
  type BackpressureLike,
  LocalWorker,
  ResilientWorker,
  type RestartOptions,
  Worker,
  type WorkerChange,
  type WorkerFactory,
  type WorkerLike,
  type WorkerListener,
  type WorkerOptions,
} from "./worker/index.ts";

// Code that uses these meets the worker's own, not copies.
registerRuntimeExports("wool-ts", {
  ...balancing,
  ...errors,
  Cell,
  ContextVar,
  currentTask,
  events,
  LocalDiscovery,
  LocalWorker,
  ResilientWorker,
  routine,
  runtimeContext,
  shipping,
  StaticDiscovery,
  Worker,
  WorkerConnection,
  WorkerPool,
  WorkerProxy,
});
