import { PoolClosed } from "../errors.ts";
import type { WorkerCredentialsProvider } from "../security/index.ts";
import { type LinkOptions, WorkerLink } from "./worker-link.ts";

/** How long a connection that nobody uses stays open, in milliseconds. */
export const IDLE_LINK_MS = 60_000;

interface CachedLink {
  readonly link: WorkerLink;
  readonly key: string;
  users: number;
  expiry: NodeJS.Timeout | undefined;
}

const links = new Map<string, CachedLink>();
const owners = new WeakMap<WorkerLink, CachedLink>();
const numbers = new WeakMap<WorkerCredentialsProvider, number>();
let lastNumber = 0;

/** The process's connection to a worker. Give it back with `releaseLink`. */
export function acquireLink(address: string, options: LinkOptions): WorkerLink {
  const key = keyOf(address, options);
  let cached = links.get(key);
  if (cached === undefined) {
    cached = { link: new WorkerLink(address, options), key, users: 0, expiry: undefined };
    links.set(key, cached);
    owners.set(cached.link, cached);
  }
  clearTimeout(cached.expiry);
  cached.users++;
  return cached.link;
}

/**
 * Gives a connection back. It is closed a minute after its last user has gone. If the worker is `gone`, it is closed as
 * soon as no call is in flight.
 */
export function releaseLink(link: WorkerLink, gone: boolean): void {
  const cached = owners.get(link);
  if (cached === undefined || links.get(cached.key) !== cached || --cached.users > 0) return;
  // Nobody needs the connection any more: a worker that never answers must not keep the program alive.
  if (gone || link.state === "connecting") {
    clearTimeout(cached.expiry);
    links.delete(cached.key);
    link.retire(new PoolClosed(`the connection to ${link.address} is not used any more`));
    return;
  }
  cached.expiry = setTimeout(() => discard(cached), IDLE_LINK_MS);
  cached.expiry.unref();
}

function discard(cached: CachedLink): void {
  clearTimeout(cached.expiry);
  links.delete(cached.key);
  cached.link.close(new PoolClosed(`the connection to ${cached.link.address} is not used any more`));
}

/**
 * Callers with different credentials or limits have different connections: each may do only what its own credentials
 * and limits allow.
 */
function keyOf(address: string, { credentials, limits }: LinkOptions): string {
  const bounds =
    limits === undefined ? "" : JSON.stringify(Object.entries(limits).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (credentials === undefined) return `${bounds} ${address}`;
  let number = numbers.get(credentials);
  if (number === undefined) numbers.set(credentials, (number = ++lastNumber));
  return `${number} ${bounds} ${address}`;
}
