export { LocalWorker } from "./local-worker.ts";
export { refuseOutsideTasks } from "./refuse-outside-tasks.ts";
export { ResilientWorker } from "./resilient-worker.ts";
export type { RestartOptions } from "./restart-policy.ts";
export { Worker, type WorkerChange, type WorkerFactory, type WorkerLike, type WorkerListener } from "./worker.ts";
export { useWorkerFile } from "./worker-entry.ts";
export { checkWorkerOptions, type WorkerOptions } from "./worker-options.ts";
export type { ProcessEnd } from "./worker-process.ts";
