import { checkOption, checkOptions, must } from "../../checks/index.ts";
import {
  checkPublication,
  type DiscoveryEventType,
  type DiscoveryLike,
  type DiscoveryPublisherLike,
  type DiscoverySubscriberLike,
  disposedError,
  type WorkerFilter,
} from "../discovery.ts";
import { advertisedWorker, hostReach, splitAddress } from "../network-addresses.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { subscribeToWorkers, type WorkerSink } from "../worker-subscription.ts";
import type { LanNode } from "./lan-node.ts";
import { encodeText, LONGEST_TTL } from "./lan-service.ts";

const DEFAULT_NAMESPACE = "default";
const TTL_MS = 60_000;
const MDNS_PORT = 5353;

/** Options of `LanDiscovery`. */
export interface LanDiscoveryOptions {
  /** Names of the network interfaces to use, such as `eth0`; all of them by default. */
  readonly interfaces?: readonly string[];
  /**
   * How long others keep a worker that stops responding without a goodbye, in milliseconds; 60,000 by default. It is
   * sent in whole seconds, from 1 second to one day.
   */
  readonly ttl?: number;
  /** The UDP port; 5353 by default, the port of multicast DNS. */
  readonly port?: number;
}

const CHECKS = {
  interfaces: must.texts,
  ttl: must.duration,
  port: must.wholeNumber(1, 65_535),
};

/**
 * Workers on the local network that share a namespace, found by multicast DNS (DNS-SD, `_wool._tcp.local.`) on every
 * interface, with IPv4 and IPv6. Needs no server.
 */
export class LanDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly namespace: string;
  readonly publisher: DiscoveryPublisherLike;
  readonly #options: LanDiscoveryOptions;
  /** Announced by this object, to its subscribers directly and to the network. */
  readonly #own = new Map<string, WorkerMetadata>();
  /** Found on the network, by the name of their service. */
  readonly #found = new Map<string, WorkerMetadata>();
  /** The services with each uid; the first one counts. */
  readonly #byUid = new Map<string, Set<string>>();
  readonly #sinks = new Set<WorkerSink>();
  readonly #warned = new Set<string>();
  #node: Promise<LanNode> | undefined;
  #opened: LanNode | undefined;
  #ignored = 0;
  #state: "open" | "disposed" = "open";

  /** @throws InvalidArgument when the namespace is empty, or an option is out of range or unknown. */
  constructor(namespace: string = DEFAULT_NAMESPACE, options: LanDiscoveryOptions = {}) {
    checkOption(namespace, must.filledText, "LanDiscovery", "namespace");
    checkOptions(options, CHECKS, "LanDiscovery");
    this.namespace = namespace;
    this.#options = options;
    this.publisher = { publish: (type, worker) => this.#publish(type, worker) };
  }

  /** How many packets and records from other programs were invalid, and were ignored. */
  get ignored(): number {
    return this.#ignored;
  }

  /** Why the network cannot be used at the moment; `undefined` while it can, or before the first try. */
  get problem(): string | undefined {
    return this.#opened?.problem;
  }

  /** Changes of the workers in the namespace, starting with the known ones. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    if (this.#state === "disposed") throw disposedError(this.#what());
    return subscribeToWorkers((sink) => {
      if (this.#state === "disposed") {
        sink.end();
        return () => {};
      }
      this.#sinks.add(sink);
      for (const worker of this.#known()) sink.change(worker);
      this.#open().then(
        (node) => {
          if (this.#sinks.size > 0) node.browse();
        },
        (error: unknown) => sink.fail(error),
      );
      return async () => {
        this.#sinks.delete(sink);
        await this.#rest();
      };
    }, filter);
  }

  /** Ends the subscriptions and withdraws the workers that were published here. */
  async dispose(): Promise<void> {
    this.#state = "disposed";
    this.#own.clear();
    for (const sink of this.#sinks) sink.end();
    this.#sinks.clear();
    await this.#close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.dispose();
  }

  async #publish(type: DiscoveryEventType, worker: WorkerMetadata): Promise<void> {
    checkPublication(type, worker);
    const { uid } = worker;
    if (type === "worker-dropped") {
      this.#own.delete(uid);
      for (const sink of this.#sinks) this.#tell(sink, uid);
      await (await this.#node)?.withdraw(uid);
      await this.#rest();
      return;
    }
    if (this.#state === "disposed") {
      throw disposedError(this.#what());
    }
    encodeText({ namespace: this.namespace, worker });
    this.#own.set(uid, worker);
    for (const sink of this.#sinks) this.#tell(sink, uid);
    if (this.#isForOthers(worker)) await (await this.#open()).publish(worker);
  }

  #what(): string {
    return `LanDiscovery(${JSON.stringify(this.namespace)})`;
  }

  /** Whether other processes can use the worker. Warns if other machines cannot. */
  #isForOthers({ uid, address }: WorkerMetadata): boolean {
    const parts = splitAddress(address);
    if (parts === undefined) {
      this.#warnOnce(
        uid,
        `worker ${uid} is not announced on the network: it listens on a unix socket, which no other machine can reach. Give it a host to listen on, such as "0.0.0.0"`,
      );
      return false;
    }
    if (hostReach(parts.host) === "loopback") {
      this.#warnOnce(
        uid,
        `worker ${uid} listens on ${parts.host}, where no other machine can reach it: it is announced on this one only. Give it a host to listen on, such as "0.0.0.0"`,
      );
    }
    return true;
  }

  async #open(): Promise<LanNode> {
    const opening = (this.#node ??= this.#openNode());
    const node = await opening;
    if (this.#node === opening) this.#opened = node;
    return node;
  }

  async #openNode(): Promise<LanNode> {
    const { ttl = TTL_MS, port = MDNS_PORT, interfaces } = this.#options;
    // Loaded on demand: most programs do not use the network for discovery.
    const { LanNode } = await import("./lan-node.ts");
    const node = await LanNode.open(
      { namespace: this.namespace, ttl: Math.min(Math.max(1, Math.ceil(ttl / 1000)), LONGEST_TTL), port, interfaces },
      {
        found: (name, worker) => this.#find(name, worker),
        lost: (name) => this.#lose(name),
        ignored: () => {
          this.#ignored++;
        },
      },
    );
    const { problem } = node;
    if (problem !== undefined) {
      this.#warnOnce("", `cannot look for workers on the network or announce them there: ${problem}`);
    }
    return node;
  }

  /** Leaves the network when nobody needs it any more. */
  async #rest(): Promise<void> {
    if (this.#sinks.size > 0) return;
    if (this.#own.size === 0) return this.#close();
    (await this.#node)?.rest();
    this.#forgetFound();
  }

  async #close(): Promise<void> {
    const node = this.#node;
    this.#node = undefined;
    this.#opened = undefined;
    this.#forgetFound();
    await (await node)?.close();
  }

  #forgetFound(): void {
    this.#found.clear();
    this.#byUid.clear();
  }

  #find(name: string, worker: WorkerMetadata): void {
    const before = this.#found.get(name);
    if (before !== undefined && before.uid !== worker.uid) this.#lose(name);
    this.#found.set(name, worker);
    const names = (this.#byUid.get(worker.uid) ?? new Set()).add(name);
    this.#byUid.set(worker.uid, names);
    if (names.size > 1) this.#warnOfTwins(worker.uid, names);
    for (const sink of this.#sinks) this.#tell(sink, worker.uid);
  }

  #lose(name: string): void {
    const worker = this.#found.get(name);
    if (worker === undefined) return;
    this.#found.delete(name);
    const names = this.#byUid.get(worker.uid);
    names?.delete(name);
    if (names?.size === 0) this.#byUid.delete(worker.uid);
    for (const sink of this.#sinks) this.#tell(sink, worker.uid);
  }

  /** Tells a subscriber the current state of a uid. */
  #tell(sink: WorkerSink, uid: string): void {
    const own = this.#own.get(uid);
    const worker = own === undefined ? this.#first(uid) : advertisedWorker(own);
    if (worker === undefined) sink.drop(uid);
    else sink.change(worker);
  }

  #first(uid: string): WorkerMetadata | undefined {
    const [name] = this.#byUid.get(uid) ?? [];
    return name === undefined ? undefined : this.#found.get(name);
  }

  #known(): WorkerMetadata[] {
    const found = Array.from(this.#byUid.keys(), (uid) => this.#first(uid)).filter((worker) => worker !== undefined);
    return [...found, ...Array.from(this.#own.values(), (worker) => advertisedWorker(worker))];
  }

  #warnOfTwins(uid: string, names: ReadonlySet<string>): void {
    const addresses = Array.from(names, (name) => this.#found.get(name)?.address ?? "");
    if (new Set(addresses).size < 2) return;
    this.#warnOnce(
      `twins ${uid}`,
      `workers at ${addresses.join(" and ")} share the uid ${uid}: only the first one is used. Give each worker its own uid`,
    );
  }

  #warnOnce(about: string, message: string): void {
    if (this.#warned.has(about)) return;
    this.#warned.add(about);
    process.emitWarning(message, "WoolWarning");
  }
}
