import { checkOptions, describeValue, must } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { type CredentialsLike, credentialsProblem } from "../security/index.ts";
import { AddressedWorkers, workerAt } from "./addressed-workers.ts";
import type { DiscoveryLike, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { addressProblem } from "./worker-address.ts";
import { checkWorker, equalWorkers, type WorkerMetadata } from "./worker-metadata.ts";
import { subscribeToWorkers } from "./worker-subscription.ts";

/** Options of `StaticDiscovery`. */
export interface StaticDiscoveryOptions {
  /** Whether the workers given by address listen with TLS; by default if there are credentials. */
  readonly secure?: boolean;
  /**
   * Credentials for asking workers with TLS for their description; none by default. If a list is given to a pool as a
   * URL, the pool uses its own credentials.
   */
  readonly credentials?: CredentialsLike;
}

/**
 * A fixed list of workers that are not announced. A worker given by address is asked for its uid, version, tags and
 * other metadata. Until it answers, its uid is its address.
 */
export class StaticDiscovery implements DiscoveryLike {
  /** The workers as given. Of a worker given by address only the address is known here. */
  readonly workers: readonly WorkerMetadata[];
  readonly #described: readonly WorkerMetadata[];
  readonly #addresses: readonly string[];
  readonly #secure: boolean;
  readonly #credentials: CredentialsLike | undefined;

  /**
   * @throws InvalidArgument when an item is neither metadata nor `host:port`, `[ipv6]:port` or `unix:path`, or when two
   * that differ have the same uid.
   */
  constructor(workers: readonly (WorkerMetadata | string)[], options: StaticDiscoveryOptions = {}) {
    if (!Array.isArray(workers)) {
      throw new InvalidArgument(
        `StaticDiscovery takes an array of addresses or worker metadata, not ${describeValue(workers)}`,
      );
    }
    checkOptions(options, { secure: must.flag, credentials: credentialsProblem }, "StaticDiscovery");
    this.#secure = options.secure ?? options.credentials !== undefined;
    this.#credentials = options.credentials;
    this.#described = workers.filter((item) => typeof item !== "string").map(checkWorker);
    checkUids(this.#described);
    this.#addresses = workers.filter((item) => typeof item === "string").map(checkAddress);
    this.workers = workers.map((item) => (typeof item === "string" ? workerAt(item, this.#secure) : item));
  }

  /** Adds each worker that passes `filter`, and then waits until the iteration is closed. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    return subscribeToWorkers((sink) => {
      for (const worker of this.#described) sink.change(worker);
      const addressed = new AddressedWorkers(sink, { secure: this.#secure, credentials: this.#credentials });
      addressed.set(this.#addresses);
      return () => addressed.close();
    }, filter);
  }
}

function checkAddress(address: string): string {
  const problem = addressProblem(address);
  if (problem === undefined) return address;
  throw new InvalidArgument(`the worker address ${JSON.stringify(address)} ${problem}`);
}

function checkUids(workers: readonly WorkerMetadata[]): void {
  const known = new Map<string, WorkerMetadata>();
  for (const worker of workers) {
    const { uid, address } = worker;
    const other = known.get(uid);
    if (other !== undefined && !equalWorkers(other, worker)) {
      const isOne = other.address === address;
      const where = isOne ? `twice at ${address}, with different metadata` : `at ${other.address} and at ${address}`;
      throw new InvalidArgument(`StaticDiscovery: worker ${uid} is listed ${where}: give each worker its own uid`);
    }
    known.set(uid, worker);
  }
}
