import type { DiscoveryEvent, WorkerFilter } from "./discovery.ts";
import { equalWorkers, type WorkerMetadata } from "./worker-metadata.ts";

/** The workers that one subscriber knows. Turns the findings of a discovery into events about changes. */
export class KnownWorkers {
  readonly #filter: WorkerFilter | undefined;
  readonly #push: (event: DiscoveryEvent) => void;
  readonly #workers = new Map<string, WorkerMetadata>();

  /** `push` gets an event for each change of the workers that pass `filter`. */
  constructor(filter: WorkerFilter | undefined, push: (event: DiscoveryEvent) => void) {
    this.#filter = filter;
    this.#push = push;
  }

  /**
   * Sets all workers that exist. Of several with one uid the last counts. Drops are reported first, so that the place
   * of a replaced worker is free. Throws the error of the filter, before any event.
   */
  replace(workers: Iterable<WorkerMetadata>): void {
    const found = new Map<string, WorkerMetadata>();
    for (const worker of workers) found.set(worker.uid, worker);
    for (const worker of Array.from(found.values())) if (!this.#passes(worker)) found.delete(worker.uid);
    for (const uid of Array.from(this.#workers.keys())) if (!found.has(uid)) this.drop(uid);
    for (const worker of found.values()) this.#admit(worker);
  }

  /** Sets one worker that exists. Throws the error of the filter. */
  change(worker: WorkerMetadata): void {
    if (this.#passes(worker)) this.#admit(worker);
    else this.drop(worker.uid);
  }

  /** The worker of this uid does not exist any more. */
  drop(uid: string): void {
    const worker = this.#workers.get(uid);
    if (worker === undefined) return;
    this.#workers.delete(uid);
    this.#push({ type: "worker-dropped", worker });
  }

  #passes(worker: WorkerMetadata): boolean {
    return this.#filter === undefined || this.#filter(worker);
  }

  #admit(worker: WorkerMetadata): void {
    const known = this.#workers.get(worker.uid);
    if (known !== undefined && equalWorkers(known, worker)) return;
    this.#workers.set(worker.uid, worker);
    this.#push({ type: known === undefined ? "worker-added" : "worker-updated", worker });
  }
}
