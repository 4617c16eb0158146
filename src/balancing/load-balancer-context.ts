import type { WorkerMetadata } from "../discovery/index.ts";
import type { LoadBalancerContextView } from "./load-balancer.ts";
import { ReadOnlyMap } from "./read-only-map.ts";

/** The workers of one pool. Exported for code that implements or tests a balancer. */
export class LoadBalancerContext implements LoadBalancerContextView {
  /** The workers to choose from, by uid: a live view that cannot be changed. */
  readonly workers: ReadonlyMap<string, WorkerMetadata>;
  readonly #workers = new Map<string, WorkerMetadata>();
  readonly #load: (uid: string) => number;
  #version = 0;

  /** `load` returns how many tasks a worker has. Default: 0 for every worker. */
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

  /** Removes a worker, if it is known. */
  remove(uid: string): void {
    if (this.#workers.delete(uid)) this.#version++;
  }
}
