import type { WorkerMetadata } from "../discovery/index.ts";
import type { LoadBalancerContextView } from "./load-balancer.ts";
import { ReadOnlyMap } from "./read-only-map.ts";

/** The workers of one pool. Exported for those who write or test a balancer. */
export class LoadBalancerContext implements LoadBalancerContextView {
  /** The workers that can be chosen, by uid: a live view that cannot be changed. */
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
  readonly #workers = new Map<string, WorkerMetadata>();
  readonly #load: (uid: string) => number;
  #version = 0;

  /** `load` tells how many tasks a worker has; without it every worker is idle. */
  constructor(load: (uid: string) => number = () => 0) {
    this.#load = load;
    this.workers = new ReadOnlyMap(this.#workers);
  }

  get version(): number {
    return this.#version;
  }

  load(uid: string): number {
    return this.#load(uid);
  }

  add(worker: WorkerMetadata): void {
    this.#workers.set(worker.uid, worker);
    this.#version++;
  }

  /** Replaces the metadata of a worker. Does not add one that is unknown. */
  update(worker: WorkerMetadata): void {
    if (!this.#workers.has(worker.uid)) return;
    this.#workers.set(worker.uid, worker);
    this.#version++;
  }

  /** Removes a worker, if it is there. */
  remove(uid: string): void {
    if (this.#workers.delete(uid)) this.#version++;
  }
}
