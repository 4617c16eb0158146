import { describeValue, nearestName } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import type { CredentialsLike } from "../security/index.ts";
import type { DiscoveryLike, DiscoveryPublisherLike, DiscoverySubscriberLike, WorkerFilter } from "./discovery.ts";
import { disposeOf } from "./dispose-of.ts";
import { LanDiscovery } from "./lan/index.ts";
import { LocalDiscovery } from "./local/index.ts";
import { type RegistryTls, readRegistryTls } from "./registry/index.ts";
import { StaticDiscovery } from "./static-discovery.ts";
import { addressProblem } from "./worker-address.ts";

/** What follows the scheme of a discovery URL. */
interface UrlParts {
  /** The URL as it is shown: without a password. */
  readonly shown: string;
  /** The part between the scheme and the parameters. */
  readonly body: string;
  readonly params: URLSearchParams;
  /** The credentials of the caller. */
  readonly credentials: CredentialsLike | undefined;
}

interface Scheme {
  /** How such a URL is written. */
  readonly form: string;
  /** Names of the parameters that it takes. */
  readonly params: readonly string[];
  /** Makes the discovery. Errors in the URL are thrown before anything is loaded. */
  readonly parse: (parts: UrlParts) => () => DiscoveryLike | Promise<DiscoveryLike>;
}

/**
 * The scheme of the URI of a pool that announces its workers in its own directory. The rest of the URI is that
 * directory.
 */
export const POOL_SCHEME = "pool:";
/** The namespace of such a pool, in its directory. */
export const POOL_NAMESPACE = "pool";

/** The parameter of every discovery URL that names a tag. It may occur several times. */
const TAG = "tag";

const SCHEMES: Readonly<Record<string, Scheme>> = {
  local: {
    form: "local:NAME",
    params: [],
    parse: (parts) => {
      const name = decoded(required(parts, "a name"), parts);
      return () => new LocalDiscovery(name);
    },
  },
  pool: {
    form: "pool:DIRECTORY",
    params: [],
    parse: (parts) => {
      const directory = required(parts, "the directory of a pool");
      return () => new LocalDiscovery(POOL_NAMESPACE, { directory });
    },
  },
  lan: {
    form: "lan:NAME",
    params: ["interface", "port", "ttl"],
    parse: (parts) => {
      const { body, params } = parts;
      const interfaces = params.getAll("interface");
      const discovery = new LanDiscovery(body === "" ? undefined : decoded(body, parts), {
        ...(interfaces.length === 0 ? {} : { interfaces }),
        ...numbersOf(parts, "port"),
        ...durationsOf(parts, "ttl"),
      });
      return () => discovery;
    },
  },
  dns: {
    form: "dns:NAME[:PORT]",
    params: ["server", "secure", "minInterval", "maxInterval", "timeout"],
    parse: (parts) => {
      const [, name = "", port] = /^(.*?)(?::(\d+))?$/.exec(required(parts, "a name")) ?? [];
      const servers = parts.params.getAll("server");
      const options = {
        ...(port === undefined ? {} : { port: Number(port) }),
        ...(servers.length === 0 ? {} : { servers }),
        ...durationsOf(parts, "minInterval", "maxInterval", "timeout"),
        ...tlsOfWorkers(parts),
      };
      return async () => new (await import("./dns/index.ts")).DnsDiscovery(name, options);
    },
  },
  etcd: {
    form: "etcd://HOST:PORT/PREFIX",
    params: ["ttl", "connectTimeout", "ca", "cert", "key"],
    parse: (parts) => etcdUrl(parts, false),
  },
  etcds: {
    form: "etcds://HOST:PORT/PREFIX",
    params: ["ttl", "connectTimeout", "ca", "cert", "key"],
    parse: (parts) => etcdUrl(parts, true),
  },
  redis: {
    form: "redis://HOST:PORT/PREFIX",
    params: ["ttl", "connectTimeout", "database", "ca", "cert", "key"],
    parse: (parts) => redisUrl(parts, false),
  },
  rediss: {
    form: "rediss://HOST:PORT/PREFIX",
    params: ["ttl", "connectTimeout", "database", "ca", "cert", "key"],
    parse: (parts) => redisUrl(parts, true),
  },
  static: {
    form: "static:HOST:PORT,...",
    params: ["secure"],
    parse: (parts) => {
      const addresses = required(parts, "at least one address").split(",");
      const discovery = new StaticDiscovery(addresses, tlsOfWorkers(parts));
      return () => discovery;
    },
  },
};

/** How a discovery URL is opened. */
export interface OpenDiscoveryOptions {
  /**
   * Credentials for asking workers with TLS for their description, where the discovery knows only their addresses.
   * Default: none.
   */
  readonly credentials?: CredentialsLike | undefined;
}

/**
 * Makes the discovery that a URL stands for.
 * @throws InvalidArgument when it is not a discovery URL.
 */
export async function openDiscovery(url: string, options: OpenDiscoveryOptions = {}): Promise<DiscoveryLike> {
  return await parseUrl(url, options.credentials)();
}

/**
 * Checks a discovery URL without opening anything.
 * @throws InvalidArgument that says what is wrong with it.
 */
export function checkDiscoveryUrl(url: string): void {
  parseUrl(url);
}

/** The forms of discovery URLs, for help texts. */
export function discoveryUrlForms(): string[] {
  return Object.entries(SCHEMES).flatMap(([name, { form }]) => (name === "pool" ? [] : [form]));
}

function parseUrl(url: unknown, credentials?: CredentialsLike): () => DiscoveryLike | Promise<DiscoveryLike> {
  const [, name, rest = ""] = typeof url === "string" ? (/^([a-z]+):(.*)$/is.exec(url) ?? []) : [];
  if (typeof url !== "string" || name === undefined) {
    throw new InvalidArgument(`${describeValue(url)} is not a discovery URL: ${formsHint()}`);
  }
  const scheme = Object.hasOwn(SCHEMES, name) ? SCHEMES[name] : undefined;
  if (scheme === undefined) {
    const near = nearestName(name, Object.keys(SCHEMES));
    const hint = near === undefined ? formsHint() : `did you mean "${near}:"? ${formsHint()}`;
    throw new InvalidArgument(`there is no discovery "${name}:" for ${JSON.stringify(withoutPassword(url))}; ${hint}`);
  }
  const [body = "", query = ""] = rest.split(/\?(.*)/s);
  const parts: UrlParts = { shown: withoutPassword(url), body, params: new URLSearchParams(query), credentials };
  const taken = [...scheme.params, TAG];
  for (const param of parts.params.keys()) {
    if (taken.includes(param)) continue;
    const known = `it takes ${taken.join(", ")}`;
    throw new InvalidArgument(
      `discovery URL ${JSON.stringify(parts.shown)} has the unknown parameter "${param}"; ${known}`,
    );
  }
  return withTags(scheme.parse(parts), parts);
}

/** Makes a discovery find only workers with one of the tags that the URL names, if there are any. */
function withTags(
  open: () => DiscoveryLike | Promise<DiscoveryLike>,
  { params, shown }: UrlParts,
): () => DiscoveryLike | Promise<DiscoveryLike> {
  const tags = params.getAll(TAG);
  if (tags.includes("")) throw new InvalidArgument(`discovery URL ${JSON.stringify(shown)} has an empty tag`);
  return tags.length === 0 ? open : async () => new TaggedDiscovery(await open(), tags);
}

/** Adds tags to a discovery URL, so that it finds only workers with one of them. */
export function tagUrl(url: string, tags: readonly string[]): string {
  const query = tags.map((tag) => `${TAG}=${encodeURIComponent(tag)}`).join("&");
  return query === "" ? url : `${url}${url.includes("?") ? "&" : "?"}${query}`;
}

function formsHint(): string {
  return `write ${discoveryUrlForms().join(", ")}`;
}

function required({ body, shown }: UrlParts, what: string): string {
  if (body !== "") return body;
  throw new InvalidArgument(`discovery URL ${JSON.stringify(shown)} is incomplete: it needs ${what} after the colon`);
}

function decoded(text: string, { shown }: UrlParts): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new InvalidArgument(
      `discovery URL ${JSON.stringify(shown)} has a "%" without two hexadecimal digits after it`,
    );
  }
}

/** Whether the workers behind addresses use TLS: as the URL says, otherwise true if the caller has credentials. */
function tlsOfWorkers({ params, shown, credentials }: UrlParts) {
  const value = params.get("secure");
  if (value !== null && value !== "true" && value !== "false") {
    throw new InvalidArgument(`discovery URL ${JSON.stringify(shown)}: secure must be true or false, not "${value}"`);
  }
  const secure = value === null ? credentials !== undefined : value === "true";
  return { secure, ...(secure && credentials !== undefined ? { credentials } : {}) };
}

function etcdUrl(parts: UrlParts, secure: boolean): () => Promise<DiscoveryLike> {
  const { username, password, hosts, prefix } = serverOf(parts, "2379");
  const options = {
    endpoints: hosts,
    ...(prefix === "" ? {} : { prefix }),
    ...(username === "" ? {} : { username, password }),
    ...durationsOf(parts, "ttl", "connectTimeout"),
    ...tlsOf(parts, secure),
  };
  return async () => new (await import("./etcd/index.ts")).EtcdDiscovery(options);
}

function redisUrl(parts: UrlParts, secure: boolean): () => Promise<DiscoveryLike> {
  const { username, password, hosts, prefix } = serverOf(parts, "6379");
  const [address, other] = hosts;
  if (other !== undefined) {
    throw new InvalidArgument(
      `discovery URL ${JSON.stringify(parts.shown)} names more than one Redis server: give one`,
    );
  }
  const options = {
    ...(address === undefined ? {} : { address }),
    ...(prefix === "" ? {} : { prefix }),
    ...(username === "" ? {} : { username }),
    ...(password === "" ? {} : { password }),
    ...durationsOf(parts, "ttl", "connectTimeout"),
    ...numbersOf(parts, "database"),
    ...tlsOf(parts, secure),
  };
  return async () => new (await import("./redis/index.ts")).RedisDiscovery(options);
}

/** The server that a URL names. */
function serverOf(parts: UrlParts, defaultPort: string) {
  const pattern = /^\/\/(?:([^@/]*)@)?([^@/]+)(?:\/(.*))?$/;
  const [, user = "", hosts, path = ""] = pattern.exec(parts.body) ?? [];
  if (hosts === undefined) {
    throw new InvalidArgument(
      `discovery URL ${JSON.stringify(parts.shown)} names no server: write ${parts.shown.split(":")[0]}://HOST:PORT/PREFIX`,
    );
  }
  const [username = "", password = ""] = user.split(/:(.*)/s).map((text) => decoded(text, parts));
  const addresses = hosts.split(",").map((host) => (/:\d+$/.test(host) ? host : `${host}:${defaultPort}`));
  for (const address of addresses) {
    const problem = addressProblem(address);
    if (problem !== undefined) {
      throw new InvalidArgument(`discovery URL ${JSON.stringify(parts.shown)}: ${JSON.stringify(address)} ${problem}`);
    }
  }
  return { username, password, hosts: addresses, prefix: decoded(path.replace(/\/+$/, ""), parts) };
}

/** The TLS options in a URL. */
function tlsOf(parts: UrlParts, secure: boolean): { readonly tls?: RegistryTls } {
  const paths: { ca?: string; cert?: string; key?: string } = {};
  for (const name of ["ca", "cert", "key"] as const) {
    const path = parts.params.get(name);
    if (path !== null) paths[name] = path;
  }
  if (secure) return { tls: readRegistryTls(paths) };
  const [name] = Object.keys(paths);
  if (name === undefined) return {};
  const scheme = parts.shown.split(":")[0];
  throw new InvalidArgument(
    `discovery URL ${JSON.stringify(parts.shown)} has "${name}" but no TLS: write ${scheme}s:// for a server with TLS`,
  );
}

/** The given ones of these parameters, as whole numbers. */
function numbersOf<Name extends string>(parts: UrlParts, ...names: Name[]): { [K in Name]?: number } {
  return readNumbers(parts, names, /^\d+$/, "a whole number");
}

/** The given ones of these parameters, as milliseconds. */
function durationsOf<Name extends string>(parts: UrlParts, ...names: Name[]): { [K in Name]?: number } {
  return readNumbers(parts, names, /^(?:\d+(?:\.\d+)?(?:e\d+)?|Infinity)$/, "a number of milliseconds");
}

function readNumbers<Name extends string>(
  { params, shown }: UrlParts,
  names: readonly Name[],
  form: RegExp,
  what: string,
): { [K in Name]?: number } {
  const found: { [K in Name]?: number } = {};
  for (const name of names) {
    const value = params.get(name);
    if (value === null) continue;
    if (!form.test(value)) {
      throw new InvalidArgument(`discovery URL ${JSON.stringify(shown)}: ${name} must be ${what}, not "${value}"`);
    }
    found[name] = Number(value);
  }
  return found;
}

/** The URL as messages show it. */
function withoutPassword(url: string): string {
  return url.replace(/(:\/\/[^/?#]*?):[^/?#]*@/, "$1:***@");
}

/** A discovery that finds only workers with one of some tags, and announces them as before. */
class TaggedDiscovery implements DiscoveryLike, AsyncDisposable {
  readonly publisher?: DiscoveryPublisherLike;
  readonly #discovery: DiscoveryLike;
  readonly #tags: readonly string[];

  constructor(discovery: DiscoveryLike, tags: readonly string[]) {
    this.#discovery = discovery;
    this.#tags = tags;
    if (discovery.publisher !== undefined) this.publisher = discovery.publisher;
  }

  get problem(): string | undefined {
    return this.#discovery.problem;
  }

  subscribe(filter: WorkerFilter = () => true): DiscoverySubscriberLike {
    return this.#discovery.subscribe((worker) => this.#tags.some((tag) => worker.tags.has(tag)) && filter(worker));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await disposeOf(this.#discovery);
  }
}
