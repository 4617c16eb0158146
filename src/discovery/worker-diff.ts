import type { DiscoveryEvent } from "./discovery.ts";
import { equalWorkers, type WorkerMetadata } from "./worker-metadata.ts";

/** Workers by uid. */
export type WorkerMap = ReadonlyMap<string, WorkerMetadata>;

/** The changes that lead from `before` to `after`: drops first, so that a replaced worker's place is free. */
export function diffWorkers(before: WorkerMap, after: WorkerMap): DiscoveryEvent[] {
  const dropped: DiscoveryEvent[] = [];
  const changed: DiscoveryEvent[] = [];
  for (const [uid, worker] of before) {
    if (!after.has(uid)) dropped.push({ type: "worker-dropped", worker });
  }
  for (const [uid, worker] of after) {
    const known = before.get(uid);
    if (known === undefined) changed.push({ type: "worker-added", worker });
    else if (!equalWorkers(known, worker)) changed.push({ type: "worker-updated", worker });
  }
  return [...dropped, ...changed];
}

/** `workers` by uid, those that pass `filter`; of several with one uid the last counts. */
export function mapWorkers(workers: Iterable<WorkerMetadata>, filter?: (worker: WorkerMetadata) => boolean): WorkerMap {
  const map = new Map([...workers].map((worker) => [worker.uid, worker]));
  if (filter === undefined) return map;
  return new Map([...map].filter(([, worker]) => filter(worker)));
}
