import { join } from "node:path";
import { checkOption, checkOptions, must } from "../../checks/index.ts";
import { cleanUpAtExit, runtimeDirectory } from "../../host/index.ts";
import {
  checkPublication,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  type DiscoverySubscriberLike,
  disposedError,
  type WorkerFilter,
} from "../discovery.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { subscribeToWorkers } from "../worker-subscription.ts";
import { EntryFolder, listFiles, removeEmptyDirectory } from "./entry-folder.ts";
import { isNamespaceFolder } from "./local-entry.ts";
import { LocalNamespace } from "./local-namespace.ts";
import { LocalSubscription } from "./local-subscription.ts";

/** Options of `LocalDiscovery`. */
export interface LocalDiscoveryOptions {
  /** An existing private directory that holds the namespace; default: the runtime directory of the user. */
  readonly directory?: string;
  /**
   * Milliseconds between checks for workers whose process died, and for changes that the system did not report;
   * default: 1,000. `Infinity` for never.
   */
  readonly pollInterval?: number;
}

const CHECKS = {
  directory: must.filledText,
  pollInterval: must.duration,
};

/**
 * Workers of this user on this machine that share a namespace, announced as files in a private directory. An entry is
 * removed when the process that published it ends, or the process of the worker.
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

  /** @throws InvalidArgument when the namespace is empty, or an option is out of range or unknown. */
  constructor(namespace: string, options: LocalDiscoveryOptions = {}) {
    checkOption(namespace, must.filledText, "LocalDiscovery", "namespace");
    checkOptions(options, CHECKS, "LocalDiscovery");
    const { directory, pollInterval = 1000 } = options;
    this.namespace = namespace;
    this.directory = directory;
    this.publisher = { publish: (type, worker) => this.#publish(type, worker) };
    this.#files = new LocalNamespace(namespace, directory);
    this.#pollInterval = pollInterval;
  }

  /** Changes of the workers in the namespace, starting with the existing ones. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    if (this.#state === "disposed") throw disposedError(this.#what());
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
    const workers = this.#files.reader().changes("all").values();
    return [...workers].filter((worker) => worker !== undefined);
  }

  /** Ends the subscriptions and removes the entries published here, and then the namespace's directory if it is empty. */
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
      throw disposedError(this.#what());
    }
  }

  #what(): string {
    return `LocalDiscovery(${JSON.stringify(this.namespace)})`;
  }

  #sweep(): void {
    if (this.directory === undefined) sweepOnce();
  }
}

let sweptRoot: string | undefined;

/** Removes the files of dead processes in the local namespaces of this user. Runs once per process, and never fails. */
function sweepOnce(): void {
  try {
    const root = runtimeDirectory();
    if (sweptRoot === root) return;
    sweptRoot = root;
    for (const folder of listFiles(root).filter(isNamespaceFolder)) {
      new EntryFolder().look(join(root, folder), true);
      removeEmptyDirectory(join(root, folder));
    }
  } catch {
    // Cleaning up is optional: code that needs the directory reports what is wrong with it.
  }
}
