import { LoadBalancerContext, ReadOnlyMap } from "../../balancing/index.ts";
import type { Call } from "../../call/index.ts";
import { runsLanguage, type WorkerMetadata } from "../../discovery/index.ts";
import { DEFAULT_LANGUAGE } from "../../wire/index.ts";

const NO_TAGS: readonly string[] = Object.freeze([]);

/** The requirements of some calls. */
interface Selection {
  /** The language of the function. */
  readonly language: string;
  /** Tags that the workers must have. */
  readonly needs: readonly string[];
  readonly context: LoadBalancerContext;
}

/**
 * The workers of a pool as balancers see them: all that run routines of this runtime, and those that run other calls, which
 * need tags or another language.
 */
export class EligibleWorkers {
  /** Every worker that runs routines whose code travels. */
  readonly all: LoadBalancerContext;
  /** Every worker, whatever it runs: a live view that cannot be changed. */
  readonly everyone: ReadonlyMap<string, WorkerMetadata>;
  readonly #everyone = new Map<string, WorkerMetadata>();
  readonly #load: (uid: string) => number;
  readonly #selections: Selection[];
  /** By language and tags. */
  readonly #byNeeds = new Map<string, Selection>();

  /** `load` tells how many tasks a worker has. */
  constructor(load: (uid: string) => number) {
    this.#load = load;
    this.everyone = new ReadOnlyMap(this.#everyone);
    this.all = new LoadBalancerContext(load);
    this.#selections = [{ language: DEFAULT_LANGUAGE, needs: NO_TAGS, context: this.all }];
  }

  /** The workers that may have a call. The same object for all calls with the same requirements. */
  for({ extras, route }: Call): LoadBalancerContext {
    const { language = DEFAULT_LANGUAGE } = route;
    const needs = extras?.needs ?? NO_TAGS;
    if (needs.length === 0 && language === DEFAULT_LANGUAGE) return this.all;
    const key = JSON.stringify([language, ...[...needs].sort()]);
    const known = this.#byNeeds.get(key);
    if (known !== undefined) return known.context;
    const selection: Selection = { language, needs, context: new LoadBalancerContext(this.#load) };
    for (const worker of this.#everyone.values()) if (isSelected(worker, selection)) selection.context.add(worker);
    this.#byNeeds.set(key, selection);
    this.#selections.push(selection);
    return selection.context;
  }

  add(worker: WorkerMetadata): void {
    this.#everyone.set(worker.uid, worker);
    for (const selection of this.#selections) if (isSelected(worker, selection)) selection.context.add(worker);
  }

  update(worker: WorkerMetadata): void {
    this.#everyone.set(worker.uid, worker);
    for (const selection of this.#selections) {
      const { context } = selection;
      if (!isSelected(worker, selection)) context.remove(worker.uid);
      else if (context.workers.has(worker.uid)) context.update(worker);
      else context.add(worker);
    }
  }

  remove(uid: string): void {
    this.#everyone.delete(uid);
    for (const { context } of this.#selections) context.remove(uid);
  }
}

/** Whether a worker may have a call. */
export function isEligible(worker: WorkerMetadata, { extras, route }: Call): boolean {
  return isSelected(worker, { language: route.language ?? DEFAULT_LANGUAGE, needs: extras?.needs ?? NO_TAGS });
}

function isSelected(worker: WorkerMetadata, { language, needs }: Pick<Selection, "language" | "needs">): boolean {
  return runsLanguage(worker, language) && needs.every((tag) => worker.tags.has(tag));
}
