export type { BackpressureContext, BackpressureLike } from "./shared/backpressure.ts";
export { LocalWorker, type LocalWorkerPlacement } from "./host/local-worker.ts";
export { refuseBesidesTasks } from "./host/refuse-besides-tasks.ts";
export { ResilientWorker } from "./host/resilient-worker.ts";
export type { RestartOptions } from "./host/restart-policy.ts";
export { stopTimeout } from "./shared/stop-timeout.ts";
export { Worker, type WorkerFactory, type WorkerLike } from "./host/worker.ts";
export type { WorkerChange, WorkerListener } from "./host/worker-change.ts";
export { checkWorkerOptions, type WorkerOptions } from "./host/worker-options.ts";
