import { LoadBalancerContext } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";
import type { WorkerMetadata } from "../../discovery/index.ts";

/** The workers of a pool as balancers see them: all of them, and those that have the tags which some calls need. */
export class EligibleWorkers {
  /** Every worker. */
  readonly all: LoadBalancerContext;
  readonly #load: (uid: string) => number;
  /** By the tags, sorted. */
  readonly #tagged = new Map<string, { readonly needs: readonly string[]; readonly context: LoadBalancerContext }>();

  /** `load` tells how many tasks a worker has. */
  constructor(load: (uid: string) => number) {
    this.#load = load;
    this.all = new LoadBalancerContext(load);
  }

  /** The workers that may have a call. The same object for all calls that need the same tags. */
  for({ extras }: Call): LoadBalancerContext {
    const needs = extras?.needs;
    if (needs === undefined) return this.all;
    const key = JSON.stringify([...needs].sort());
    const known = this.#tagged.get(key);
    if (known !== undefined) return known.context;
    const context = new LoadBalancerContext(this.#load);
    for (const worker of this.all.workers.values()) if (hasTags(worker, needs)) context.add(worker);
    this.#tagged.set(key, { needs, context });
    return context;
  }

  add(worker: WorkerMetadata): void {
    this.all.add(worker);
    for (const { needs, context } of this.#tagged.values()) if (hasTags(worker, needs)) context.add(worker);
  }

  update(worker: WorkerMetadata): void {
    this.all.update(worker);
    for (const { needs, context } of this.#tagged.values()) {
      if (!hasTags(worker, needs)) context.remove(worker.uid);
      else if (context.workers.has(worker.uid)) context.update(worker);
      else context.add(worker);
    }
  }

  remove(uid: string): void {
    this.all.remove(uid);
    for (const { context } of this.#tagged.values()) context.remove(uid);
  }
}

/** Whether a worker may have a call. */
export function isEligible(worker: WorkerMetadata, { extras }: Call): boolean {
  return extras?.needs === undefined || hasTags(worker, extras.needs);
}

function hasTags({ tags }: WorkerMetadata, needs: readonly string[]): boolean {
  return needs.every((tag) => tags.has(tag));
}
