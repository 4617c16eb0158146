import { checkOptions, must } from "../../checks/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { splitAddress } from "../network-addresses.ts";
import { RegistryDiscovery, type RegistryTls } from "../registry/index.ts";
import { addressProblem } from "../worker-address.ts";
import { RedisSession } from "./redis-session.ts";

/** Options of `RedisDiscovery`. */
export interface RedisDiscoveryOptions {
  /** The server as `host:port`; `127.0.0.1:6379` by default. */
  readonly address?: string;
  /** The prefix of the keys of the workers: programs with the same prefix find each other. `wool` by default. */
  readonly prefix?: string;
  /** The number of the database; 0 by default. */
  readonly database?: number;
  /**
   * How long an entry stays when its publisher stops responding, in milliseconds; 15,000 by default, and no less than
   * 100.
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
  address: must.filledText,
  prefix: must.filledText,
  database: must.wholeNumber(0),
  ttl: must.duration,
  connectTimeout: must.duration,
  username: must.filledText,
  password: must.text,
  tls: must.object,
};

/**
 * Workers as keys of Redis that expire with their publishers. Changes are published on a channel, which needs no
 * configuration of the server. Needs the package `@redis/client`.
 */
export class RedisDiscovery extends RegistryDiscovery {
  /** @throws InvalidArgument when an option is out of range or unknown, or the address is not `host:port`. */
  constructor(options: RedisDiscoveryOptions = {}) {
    checkOptions(options, CHECKS, "RedisDiscovery");
    const { address = "127.0.0.1:6379", prefix = "wool", ttl = 15_000, connectTimeout = 5000 } = options;
    const server = splitAddress(address);
    const problem = addressProblem(address) ?? (server === undefined ? "is a socket" : undefined);
    if (server === undefined || problem !== undefined) {
      throw new InvalidArgument(`RedisDiscovery: the address ${JSON.stringify(address)} ${problem}`);
    }
    const { database, username, password, tls } = options;
    if (username !== undefined && password === undefined) {
      throw new InvalidArgument("RedisDiscovery: a username needs a password, and none is given");
    }
    const settings = { ...server, prefix, database, ttl: keptFor(ttl), connectTimeout, username, password, tls };
    super({
      what: `Redis at ${address}`,
      connectTimeout,
      connect: (events) => RedisSession.open(settings, events),
    });
  }
}

/**
 * How long Redis keeps a key, in whole milliseconds: long enough to be renewed in time, and within the range of its
 * clock.
 */
function keptFor(ttl: number): number {
  return Math.min(Math.max(100, Math.ceil(ttl)), 1e15);
}
