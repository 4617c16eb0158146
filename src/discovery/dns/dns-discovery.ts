import { isIP } from "node:net";
import { checkOption, checkOptions, messageOf, must } from "../../checks/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { type CredentialsLike, credentialsProblem } from "../../security/index.ts";
import { Timer } from "../../time/index.ts";
import { AddressedWorkers } from "../addressed-workers.ts";
import { Backoff } from "../backoff.ts";
import type { DiscoveryLike, DiscoverySubscriberLike, WorkerFilter } from "../discovery.ts";
import { subscribeToWorkers, type WorkerSink } from "../worker-subscription.ts";
import { type Found, type LookupSettings, lookupAddresses, lookupServices, systemSettings } from "./dns-lookup.ts";

/** The service name of workers, if a name has several services. */
const SERVICE = "_wool._tcp";

/** Options of `DnsDiscovery`. */
export interface DnsDiscoveryOptions {
  /** The port of the workers, whose addresses are those of the name. Default: none, SRV records tell address and port. */
  readonly port?: number;
  /** Name servers as `address` or `address:port`; those of the system by default. */
  readonly servers?: readonly string[];
  /** Shortest time between two looks, regardless of the records, in milliseconds; 1,000 by default. */
  readonly minInterval?: number;
  /** Longest time between two looks, in milliseconds; 30,000 by default. */
  readonly maxInterval?: number;
  /** How long name servers have to answer, in milliseconds; 5,000 by default. */
  readonly timeout?: number;
  /** Whether the workers listen with TLS; by default if there are credentials. */
  readonly secure?: boolean;
  /** Credentials for asking workers with TLS for their description; none by default. */
  readonly credentials?: CredentialsLike;
}

const CHECKS = {
  port: must.wholeNumber(1, 65_535),
  servers: must.texts,
  minInterval: must.duration,
  maxInterval: must.duration,
  timeout: must.duration,
  secure: must.flag,
  credentials: credentialsProblem,
};

/**
 * Workers found by DNS, such as those of a headless service of Kubernetes: the SRV records of a name, or its addresses
 * with a port. Each worker is asked for its description. The name is looked up again when the records have expired.
 */
export class DnsDiscovery implements DiscoveryLike {
  /** The name that is looked up. */
  readonly name: string;
  readonly #options: DnsDiscoveryOptions;
  readonly #servers: LookupSettings["servers"] | undefined;
  #problem: string | undefined;

  /** @throws InvalidArgument when the name is empty, or an option is out of range or unknown. */
  constructor(name: string, options: DnsDiscoveryOptions = {}) {
    checkOption(name, must.filledText, "DnsDiscovery", "name");
    checkOptions(options, CHECKS, "DnsDiscovery");
    if (!/^[\w-]+(?:\.[\w-]+)*\.?$/.test(name) || isIP(name) !== 0) {
      throw new InvalidArgument(
        `DnsDiscovery: ${JSON.stringify(name)} is not a valid DNS name; for addresses use a StaticDiscovery`,
      );
    }
    const { servers, port, minInterval = 1000, maxInterval = 30_000 } = options;
    if (minInterval > maxInterval) {
      throw new InvalidArgument(
        `DnsDiscovery: minInterval (${minInterval} ms) is longer than maxInterval (${maxInterval} ms)`,
      );
    }
    this.name = port !== undefined || name.startsWith("_") ? name : `${SERVICE}.${name}`;
    this.#options = options;
    this.#servers = servers?.map(parseServer);
  }

  /** Why the name cannot be looked up at the moment; `undefined` while it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Changes of the workers. While no name server answers, the workers known so far stay. */
  subscribe(filter?: WorkerFilter): DiscoverySubscriberLike {
    return subscribeToWorkers((sink) => this.#follow(sink), filter);
  }

  #follow(sink: WorkerSink): () => void {
    const { minInterval = 1000, maxInterval = 30_000, credentials } = this.#options;
    const { secure = credentials !== undefined } = this.#options;
    const workers = new AddressedWorkers(sink, { secure, credentials });
    const backoff = new Backoff();
    const closed = new AbortController();
    let timer: Timer | undefined;
    const isOpen = (): boolean => !closed.signal.aborted;
    const look = async (): Promise<void> => {
      let wait: number;
      try {
        const { addresses, ttl } = await this.#lookup(closed.signal);
        if (!isOpen()) return;
        this.#problem = addresses.length === 0 ? `${this.name} has no records` : undefined;
        backoff.reset();
        workers.set(addresses);
        wait = Math.min(Math.max(ttl * 1000, minInterval), maxInterval);
      } catch (error) {
        if (!isOpen()) return;
        wait = Math.max(backoff.next(), minInterval);
        this.#report(error);
      }
      timer = new Timer(wait, () => void look()).unref();
    };
    void look();
    return () => {
      closed.abort();
      timer?.clear();
      workers.close();
    };
  }

  async #lookup(signal: AbortSignal): Promise<Found> {
    const { port, timeout = 5000 } = this.#options;
    const system = systemSettings();
    const chosen = this.#servers === undefined ? system : { servers: this.#servers, search: [], ndots: 0 };
    const settings: LookupSettings = { ...chosen, signal };
    if (port === undefined) return await lookupServices(this.name, settings, timeout);
    return await lookupAddresses(this.name, port, settings, timeout);
  }

  /** Warns once that names cannot be looked up, until that works again. */
  #report(error: unknown): void {
    const reason = messageOf(error);
    const isNews = this.#problem === undefined || this.#problem.endsWith("has no records");
    this.#problem = reason;
    if (!isNews) return;
    process.emitWarning(
      `${reason}; the workers known so far stay in use, and the lookup is tried again`,
      "WoolWarning",
    );
  }
}

function parseServer(server: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]+|[\da-f:]+?))(?::(\d+))?$/i.exec(server) ?? [];
  const host = isIP(server) === 0 ? (bracketed ?? plain ?? "") : server;
  if (isIP(host) === 0) {
    throw new InvalidArgument(
      `DnsDiscovery: the name server ${JSON.stringify(server)} is not an address, with or without a port`,
    );
  }
  return { host, port: isIP(server) === 0 && port !== undefined ? Number(port) : 53 };
}
