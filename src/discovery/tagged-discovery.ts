import type { DiscoveryLike, DiscoveryPublisherLike, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { disposeOf } from "./dispose-of.ts";

/** A discovery that finds only workers with one of some tags, and announces as it did before. */
export class TaggedDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly publisher?: DiscoveryPublisherLike;
  readonly #discovery: DiscoveryLike;
  readonly #tags: readonly string[];

  constructor(discovery: DiscoveryLike, tags: readonly string[]) {
    this.#discovery = discovery;
    this.#tags = tags;
    if (discovery.publisher !== undefined) this.publisher = discovery.publisher;
  }

  get problem(): string | undefined {
    return this.#discovery.problem;
  }

  subscribe(filter: WorkerFilter = () => true): DiscoverySubscriberLike {
    return this.#discovery.subscribe((worker) => this.#tags.some((tag) => worker.tags.has(tag)) && filter(worker));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await disposeOf(this.#discovery);
  }
}
