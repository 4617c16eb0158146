import { checkOption, checkOptions, must } from "../../checks/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { RegistryDiscovery, type RegistryEvents, type RegistrySession, type RegistryTls } from "../registry/index.ts";
import { addressProblem } from "../worker-address.ts";
import { EtcdHistory, EtcdSession } from "./etcd-session.ts";

/** Options of `EtcdDiscovery`. */
export interface EtcdDiscoveryOptions {
  /** The server, or the servers of one cluster, as `host:port`; `127.0.0.1:2379` by default. */
  readonly endpoints?: readonly string[];
  /** The prefix of the keys of the workers: programs with the same prefix find each other. `wool` by default. */
  readonly prefix?: string;
  /**
   * How long an entry stays when its publisher stops responding, in milliseconds; 15,000 by default. etcd counts in
   * seconds, from 1.
   */
  readonly ttl?: number;
  /** Milliseconds that connecting may take, and that publishing waits for the server; 5,000 by default. */
  readonly connectTimeout?: number;
  readonly username?: string;
  readonly password?: string;
  /** TLS; none by default. */
  readonly tls?: RegistryTls;
}

const CHECKS = {
  endpoints: must.texts,
  prefix: must.filledText,
  ttl: must.duration,
  connectTimeout: must.duration,
  username: must.filledText,
  password: must.text,
  tls: must.object,
};

/** Workers as keys of etcd. The keys have leases, so that the entries of a publisher that stops responding expire. */
export class EtcdDiscovery extends RegistryDiscovery {
  /** @throws InvalidArgument when an option is out of range or unknown, or an endpoint is not `host:port`. */
  constructor(options: EtcdDiscoveryOptions = {}) {
    checkOptions(options, CHECKS, "EtcdDiscovery");
    const { endpoints = ["127.0.0.1:2379"], prefix = "wool", ttl = 15_000, connectTimeout = 5000 } = options;
    const { username, password, tls } = options;
    checkOption(endpoints.length, must.wholeNumber(1), "EtcdDiscovery", "endpoints.length");
    for (const endpoint of endpoints) {
      const problem = endpoint.startsWith("unix:") ? "is a socket" : addressProblem(endpoint);
      if (problem === undefined) continue;
      throw new InvalidArgument(`EtcdDiscovery: the endpoint ${JSON.stringify(endpoint)} ${problem}`);
    }
    if ((username === undefined) !== (password === undefined)) {
      throw new InvalidArgument("EtcdDiscovery: username and password must be given together, and only one of them is");
    }
    const history = new EtcdHistory();
    let next = 0;
    /** Returns the servers one after the other, starting after the one of the last try. */
    const connect = async (events: RegistryEvents): Promise<RegistrySession> => {
      const failures: unknown[] = [];
      for (let i = 0; i < endpoints.length; i++) {
        const endpoint = endpoints[next++ % endpoints.length] ?? "";
        try {
          const lease = { prefix: `${prefix}/`, ttl: leaseSeconds(ttl) };
          const settings = { ...lease, endpoint, connectTimeout, tls, history };
          const user = username === undefined || password === undefined ? undefined : { name: username, password };
          return await EtcdSession.open({ ...settings, user }, events);
        } catch (error) {
          failures.push(error);
        }
      }
      if (failures.length === 1) throw failures[0];
      throw new AggregateError(failures, failures.map((failure) => String(failure)).join("; "));
    };
    super({ what: `etcd at ${endpoints.join(", ")}`, connectTimeout, connect });
  }
}

/** The time of a lease in seconds: etcd accepts values from 1 to this limit. */
function leaseSeconds(ttl: number): number {
  return Math.min(Math.max(1, Math.ceil(ttl / 1000)), 9_000_000_000);
}
