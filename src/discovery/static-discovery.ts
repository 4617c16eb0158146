import { describeValue } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import type { DiscoveryLike, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { addressProblem } from "./worker-address.ts";
import { checkWorker, type WorkerMetadata } from "./worker-metadata.ts";
import { subscribeToWorkers } from "./worker-subscription.ts";

/** Options of `StaticDiscovery`. */
export interface StaticDiscoveryOptions {
  /** Whether the workers given by address listen with TLS; default false. */
  readonly secure?: boolean;
}

/** A fixed list of workers, which nobody announces and which never changes. */
export class StaticDiscovery implements DiscoveryLike {
  /** The workers, in the order given. One given by address has that as its uid; what else it is remains unknown. */
  readonly workers: readonly WorkerMetadata[];

  /** @throws InvalidArgument when an item is neither metadata nor `host:port`, `[ipv6]:port` or `unix:path`. */
  constructor(workers: readonly (WorkerMetadata | string)[], options: StaticDiscoveryOptions = {}) {
    if (!Array.isArray(workers)) {
      throw new InvalidArgument(
        `StaticDiscovery got ${describeValue(workers)}: give an array of addresses or worker metadata.`,
      );
    }
    const secure = options.secure ?? false;
    this.workers = workers.map((item) => (typeof item === "string" ? workerAt(item, secure) : checkWorker(item)));
  }

  /** Adds each worker that passes `filter`, and then waits until the iteration is closed. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    return subscribeToWorkers((sink) => {
      sink.update(this.workers);
      return () => {};
    }, filter);
  }
}

function workerAt(address: string, secure: boolean): WorkerMetadata {
  const problem = addressProblem(address);
  if (problem !== undefined) {
    throw new InvalidArgument(`The worker address ${JSON.stringify(address)} ${problem}.`);
  }
  return { uid: address, address, pid: 0, version: "", tags: new Set(), extra: {}, secure, channel: {} };
}
