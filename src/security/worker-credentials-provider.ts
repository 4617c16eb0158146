import { watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { checkFunction, describeValue, messageOf } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { type CredentialsFiles, credentialsText, WorkerCredentials } from "./worker-credentials.ts";

/** Shortest and longest wait before a worker's certificate is asked for again, in milliseconds. */
const SHORTEST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;
/** How often a fault of a factory is told of, in milliseconds. */
const WARNING_MS = 60_000;
/** How long files may go on changing before they are read, in milliseconds: a key and its certificate are two files. */
const SETTLING_MS = 100;

/** How a provider treats what its factory gives. */
export interface ProviderOptions {
  /**
   * The name that the certificates of workers must carry instead of the host that they are reached at: a host name, or a
   * URI such as `spiffe://example.org/worker`. Default: the host, and `localhost` for a unix socket.
   */
  readonly identity?: string;
  /**
   * Whether the factory is asked again: for each new connection, and for running workers before their certificate ends.
   * Default: true.
   */
  readonly reloadable?: boolean;
}

/**
 * Gives credentials that change: certificates are replaced without a restart, and what runs goes on. Workers that this
 * process started get new ones through the provider as well.
 */
export class WorkerCredentialsProvider {
  /** The name that the certificates of workers must carry, if that is not the host. */
  readonly identity: string | undefined;
  readonly #factory: () => WorkerCredentials | Promise<WorkerCredentials>;
  readonly #reloadable: boolean;
  readonly #listeners = new Set<(credentials: WorkerCredentials) => void>();
  #current: WorkerCredentials | undefined;
  #loading: Promise<WorkerCredentials> | undefined;
  #warnedAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #stopWatching: (() => void) | undefined;

  /** Throws `InvalidArgument` for options of the wrong kind. */
  constructor(factory: () => WorkerCredentials | Promise<WorkerCredentials>, options: ProviderOptions = {}) {
    checkFunction(factory, "WorkerCredentialsProvider", "a function that gives WorkerCredentials");
    const { identity, reloadable = true } = options;
    if (identity !== undefined && (typeof identity !== "string" || identity === "")) {
      throw new InvalidArgument(`WorkerCredentialsProvider: identity must be a name, not ${describeValue(identity)}`);
    }
    if (typeof reloadable !== "boolean") {
      throw new InvalidArgument(
        `WorkerCredentialsProvider: reloadable must be true or false, not ${describeValue(reloadable)}`,
      );
    }
    this.#factory = factory;
    this.identity = identity;
    this.#reloadable = reloadable;
  }

  /** Reads credentials from files, again whenever a file has changed. */
  static fromFiles(files: CredentialsFiles, options: ProviderOptions = {}): WorkerCredentialsProvider {
    return new FileCredentialsProvider(files, options);
  }

  /**
   * The credentials for a new connection. When the factory fails, those that it gave before are used on with a warning.
   * Rejects with what the factory threw when it never gave any.
   */
  async load(): Promise<WorkerCredentials> {
    if (this.#current !== undefined && !this.#reloadable) return this.#current;
    try {
      return await this.refresh();
    } catch (error) {
      if (this.#current === undefined) throw error;
      this.#warn(error);
      return this.#current;
    }
  }

  /** Asks the factory now, and hands what it gives to the workers that use this provider. Rejects with what it threw. */
  refresh(): Promise<WorkerCredentials> {
    this.#loading ??= this.#ask().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** @internal Tells a worker of credentials that replace the former ones, until what is returned is called. */
  subscribe(changed: (credentials: WorkerCredentials) => void): () => void {
    this.#listeners.add(changed);
    if (this.#reloadable && this.#listeners.size === 1) {
      this.#stopWatching = this.watchChanges(() => this.#renew());
      this.#schedule();
    }
    return () => {
      if (!this.#listeners.delete(changed) || this.#listeners.size > 0) return;
      clearTimeout(this.#timer);
      this.#stopWatching?.();
      this.#stopWatching = undefined;
    };
  }

  /** Calls `changed` when there may be other credentials, until what is returned is called. */
  protected watchChanges(_changed: () => void): (() => void) | undefined {
    return undefined;
  }

  async #ask(): Promise<WorkerCredentials> {
    const given: unknown = await this.#factory();
    if (!(given instanceof WorkerCredentials)) {
      throw new InvalidArgument(
        `the factory of a WorkerCredentialsProvider must give WorkerCredentials, not ${describeValue(given)}`,
      );
    }
    const before = this.#current;
    if (before !== undefined && isSame(before, given)) return before;
    this.#current = given;
    if (before !== undefined) for (const listener of this.#listeners) listener(given);
    if (this.#listeners.size > 0) this.#schedule();
    return given;
  }

  /** A worker asks nobody for its certificate: it gets a new one well before the old one ends. */
  #schedule(): void {
    clearTimeout(this.#timer);
    const expires = this.#current?.expires?.getTime() ?? Number.POSITIVE_INFINITY;
    const wait = Math.min(Math.max(((expires - Date.now()) * 2) / 3, SHORTEST_WAIT_MS), LONGEST_WAIT_MS);
    this.#timer = setTimeout(() => this.#renew(), wait).unref();
  }

  #renew(): void {
    this.refresh()
      .catch((error: unknown) => this.#warn(error))
      .finally(() => {
        if (this.#listeners.size > 0) this.#schedule();
      });
  }

  #warn(error: unknown): void {
    const now = performance.now();
    if (now - this.#warnedAt < WARNING_MS) return;
    this.#warnedAt = now;
    const reason = messageOf(error);
    process.emitWarning(`new credentials cannot be had, and the former ones are used on: ${reason}`, "WoolWarning");
  }
}

class FileCredentialsProvider extends WorkerCredentialsProvider {
  readonly #paths: readonly string[];

  constructor(files: CredentialsFiles, options: ProviderOptions) {
    super(() => WorkerCredentials.fromFiles(files), options);
    this.#paths = [files.ca, files.key, files.cert].filter((path) => path !== undefined);
  }

  protected override watchChanges(changed: () => void): () => void {
    return watchFiles(this.#paths, changed);
  }
}

/** What options called `credentials` take. */
export type CredentialsLike = WorkerCredentials | WorkerCredentialsProvider;

const fixed = new WeakMap<WorkerCredentials, WorkerCredentialsProvider>();

/** The provider that stands for credentials which never change: one for each. */
export function providerOf(credentials: CredentialsLike): WorkerCredentialsProvider {
  if (credentials instanceof WorkerCredentialsProvider) return credentials;
  let provider = fixed.get(credentials);
  if (provider === undefined) {
    provider = new WorkerCredentialsProvider(() => credentials, { reloadable: false });
    fixed.set(credentials, provider);
  }
  return provider;
}

/** What is wrong with an option called `credentials`; nothing if it can be used. */
export function credentialsProblem(value: unknown): string | undefined {
  return value instanceof WorkerCredentials || value instanceof WorkerCredentialsProvider
    ? undefined
    : "WorkerCredentials or a WorkerCredentialsProvider";
}

function isSame(one: WorkerCredentials, other: WorkerCredentials): boolean {
  const [a, b] = [credentialsText(one), credentialsText(other)];
  return a.ca === b.ca && a.key === b.key && a.cert === b.cert && a.mutual === b.mutual;
}

/**
 * Files are replaced by renaming others, and mounted secrets through a link beside them: it is the directories that are
 * watched, and any change there counts.
 */
function watchFiles(paths: readonly string[], changed: () => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  const directories = new Set(paths.map((path) => dirname(resolve(path))));
  const watchers = [...directories].map((directory) => {
    const watcher = watch(directory, { persistent: false }, () => {
      clearTimeout(settling);
      settling = setTimeout(changed, SETTLING_MS).unref();
    });
    // Without its directory there is nothing to read; new connections say so.
    watcher.on("error", () => watcher.close());
    return watcher;
  });
  return () => {
    clearTimeout(settling);
    for (const watcher of watchers) watcher.close();
  };
}
