export type { BackpressureContext, BackpressureLike } from "./backpressure.ts";
export { LocalWorker, type LocalWorkerPlacement } from "./local-worker.ts";
export { Worker, type WorkerFactory, type WorkerLike } from "./worker.ts";
export { checkWorkerOptions, type WorkerOptions } from "./worker-options.ts";
