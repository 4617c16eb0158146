import { describeValue } from "../checks/index.ts";
import { InvalidArgument, WoolError } from "../errors.ts";
import { cleanUpAtExit } from "../host/index.ts";
import type {
  DiscoveryEventType,
  DiscoveryLike,
  DiscoveryPublisherLike,
  DiscoverySubscriberLike,
  WorkerFilter,
} from "./discovery.ts";
import { LocalNamespace } from "./local-namespace.ts";
import { LocalSubscription } from "./local-subscription.ts";
import { sweepLocalNamespacesOnce } from "./local-sweep.ts";
import { checkPublication } from "./publication.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";
import { subscribeToWorkers } from "./worker-subscription.ts";

/** Options of `LocalDiscovery`. */
export interface LocalDiscoveryOptions {
  /** An existing private directory that holds the namespace; default: the runtime directory of the user. */
  readonly directory?: string;
  /** Time between looks for workers whose process died, and for changes where the system reports none; default 1000 ms. */
  readonly pollInterval?: number;
}

/**
 * Workers of this user on this machine that share a namespace, announced as files in a private directory.
 * An entry vanishes with the process that published it, and with the worker's own.
 */
export class LocalDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly namespace: string;
  /** The directory given in the options. */
  readonly directory: string | undefined;
  readonly publisher: DiscoveryPublisherLike;
  readonly #files: LocalNamespace;
  readonly #pollInterval: number;
  readonly #subscriptions = new Set<LocalSubscription>();
  #cancelExitCleanup: (() => void) | undefined;
  #state: "open" | "disposed" = "open";

  /** @throws InvalidArgument when the namespace is empty, or an option is out of range, or unknown. */
  constructor(namespace: string, options: LocalDiscoveryOptions = {}) {
    const { directory, pollInterval = 1000, ...unknown } = options;
    if (typeof namespace !== "string" || namespace === "") {
      throw new InvalidArgument(
        `The namespace of a LocalDiscovery is ${describeValue(namespace)}: give a non-empty string.`,
      );
    }
    if (typeof pollInterval !== "number" || !(pollInterval >= 1 && pollInterval <= 2 ** 31 - 1)) {
      throw new InvalidArgument(
        `pollInterval is ${describeValue(pollInterval)}: give milliseconds from 1 to 2147483647.`,
      );
    }
    const [option] = Object.keys(unknown);
    if (option !== undefined) {
      throw new InvalidArgument(`A LocalDiscovery has no option "${option}"; it has directory, pollInterval.`);
    }
    this.namespace = namespace;
    this.directory = directory;
    this.publisher = { publish: (type, worker) => this.#publish(type, worker) };
    this.#files = new LocalNamespace(namespace, directory);
    this.#pollInterval = pollInterval;
  }

  /** Changes of the workers in the namespace, beginning with those that are there. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    return subscribeToWorkers((sink) => {
      if (this.#state === "disposed") {
        sink.end();
        return () => {};
      }
      this.#sweep();
      const subscription = new LocalSubscription(this.#files, sink, this.#pollInterval);
      this.#subscriptions.add(subscription);
      return () => {
        this.#subscriptions.delete(subscription);
        subscription.close();
      };
    }, filter);
  }

  /** The workers in the namespace now. */
  async snapshot(): Promise<WorkerMetadata[]> {
    return this.#files.read();
  }

  /** Ends the subscriptions and removes the entries published here, and the namespace's directory if it is empty then. */
  async dispose(): Promise<void> {
    this.#state = "disposed";
    this.#cancelExitCleanup?.();
    for (const subscription of this.#subscriptions) subscription.close();
    this.#subscriptions.clear();
    this.#files.removeOwn();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #publish(type: DiscoveryEventType, worker: WorkerMetadata): Promise<void> {
    checkPublication(type, worker);
    if (type === "worker-dropped") {
      this.#files.remove(worker.uid);
    } else if (this.#state === "open") {
      this.#sweep();
      this.#cancelExitCleanup ??= cleanUpAtExit(() => this.#files.removeOwn());
      this.#files.write(worker);
    } else {
      throw new WoolError(
        `Worker ${worker.uid} cannot be announced: this LocalDiscovery(${JSON.stringify(this.namespace)}) was disposed of.`,
      );
    }
  }

  #sweep(): void {
    if (this.directory === undefined) sweepLocalNamespacesOnce();
  }
}
