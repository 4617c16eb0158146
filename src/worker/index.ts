export {
  checkWorkerOptions,
  LocalWorker,
  type ProcessEnd,
  ResilientWorker,
  type RestartOptions,
  refuseOutsideTasks,
  Worker,
  type WorkerChange,
  type WorkerFactory,
  type WorkerLike,
  type WorkerListener,
  type WorkerOptions,
} from "./host/index.ts";
export {
  type AuthorizeContext,
  type AuthorizeLike,
  type BackpressureContext,
  type BackpressureLike,
  stopTimeout,
  type WorkerLimits,
} from "./shared/index.ts";
