import {
  checkPublication,
  type DiscoveryEvent,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoverySubscriberLike,
  type WorkerFilter,
} from "./discovery.ts";
import type { OpenDiscoveryOptions } from "./discovery-url.ts";
import { type Factory, isDiscoveryLike, type Resolved, resolveDiscovery } from "./factory.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";
import { subscribeToWorkers, type WorkerSink } from "./worker-subscription.ts";

/**
 * A discovery that can announce workers. If the given one has a publisher, it is returned as it is. Otherwise it gets a
 * publisher that announces to this process only.
 */
export function announcingBeside(
  discovery: Factory<DiscoveryLike> | string,
  options: OpenDiscoveryOptions = {},
): Factory<DiscoveryLike> {
  if (isDiscoveryLike(discovery) && discovery.publisher !== undefined) return discovery;
  return async () => new MixedDiscovery(await resolveDiscovery(discovery, options));
}

class MixedDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly publisher;
  readonly #found: Resolved<DiscoveryLike>;
  readonly #own = new Map<string, WorkerMetadata>();
  readonly #sinks = new Set<WorkerSink>();

  constructor(found: Resolved<DiscoveryLike>) {
    this.#found = found;
    this.publisher = found.value.publisher ?? {
      publish: async (type: DiscoveryEventType, worker: WorkerMetadata) => this.#publish(type, worker),
    };
  }

  get problem(): string | undefined {
    return this.#found.value.problem;
  }

  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    if (this.#found.value.publisher !== undefined) return this.#found.value.subscribe(filter);
    return subscribeToWorkers((sink) => {
      const iterator = this.#found.value.subscribe(filter)[Symbol.asyncIterator]();
      this.#sinks.add(sink);
      for (const worker of this.#own.values()) sink.change(worker);
      void this.#follow(iterator, sink);
      return async () => {
        this.#sinks.delete(sink);
        await iterator.return?.();
      };
    }, filter);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#found.dispose();
  }

  #publish(type: DiscoveryEventType, worker: WorkerMetadata): void {
    checkPublication(type, worker);
    if (type === "worker-dropped") {
      this.#own.delete(worker.uid);
      for (const sink of this.#sinks) sink.drop(worker.uid);
    } else {
      this.#own.set(worker.uid, worker);
      for (const sink of this.#sinks) sink.change(worker);
    }
  }

  async #follow(iterator: AsyncIterator<DiscoveryEvent>, sink: WorkerSink): Promise<void> {
    try {
      for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
        const { type, worker } = step.value;
        // For workers announced here, what this process knows counts.
        if (this.#own.has(worker.uid)) continue;
        if (type === "worker-dropped") sink.drop(worker.uid);
        else sink.change(worker);
      }
    } catch (error) {
      sink.fail(error);
    }
  }
}
