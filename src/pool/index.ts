export type { MapOptions, Progress } from "./map.ts";
export type { PoolOptions } from "./pool-options.ts";
export { SpawnedWorkers } from "./spawned-workers.ts";
export { WorkerPool } from "./worker-pool.ts";
