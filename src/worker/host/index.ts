export { LocalWorker, type LocalWorkerPlacement } from "./local-worker.ts";
export { refuseOutsideTasks } from "./refuse-outside-tasks.ts";
export { ResilientWorker } from "./resilient-worker.ts";
export type { RestartOptions } from "./restart-policy.ts";
export { Worker, type WorkerFactory, type WorkerLike } from "./worker.ts";
export type { WorkerChange, WorkerListener } from "./worker-change.ts";
export { threadEntry, useWorkerFile } from "./worker-entry.ts";
export { checkWorkerOptions, type WorkerOptions } from "./worker-options.ts";
