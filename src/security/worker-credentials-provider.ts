import { watch } from "node:fs";
import { dirname, resolve } from "node:path";
import { checkFunction, describeValue, messageOf } from "../checks/index.ts";
import { InvalidArgument } from "../errors.ts";
import { type CredentialsFiles, credentialsText, WorkerCredentials } from "./worker-credentials.ts";

/** Shortest and longest wait before the factory is asked for a new certificate of a worker, in milliseconds. */
const SHORTEST_WAIT_MS = 60_000;
const LONGEST_WAIT_MS = 24 * 60 * 60 * 1000;
/** Shortest time between two warnings about errors of a factory, in milliseconds. */
const WARNING_MS = 60_000;
/** How long files must stay unchanged before they are read, in milliseconds: a key and its certificate are two files. */
const SETTLING_MS = 100;

/** How a provider uses the credentials of its factory. */
export interface ProviderOptions {
  /**
   * The name that the certificates of workers must have instead of their host: a host name, or a URI such as
   * `spiffe://example.org/worker`. Default: the host, and `localhost` for a unix socket.
   */
  readonly identity?: string;
  /**
   * Whether the factory is called again: for each new connection, and for running workers before their certificate
   * expires. Default: true.
   */
  readonly reloadable?: boolean;
}

/**
 * Provides credentials that change: certificates are replaced without a restart, and open connections stay. Workers
 * that this process started get new credentials through the provider too.
 */
export class WorkerCredentialsProvider {
  /** The name that the certificates of workers must have, if not their host. */
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
    checkFunction(factory, "WorkerCredentialsProvider", "a function that returns WorkerCredentials");
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

  /** Reads credentials from files, and again whenever a file has changed. */
  static fromFiles(files: CredentialsFiles, options: ProviderOptions = {}): WorkerCredentialsProvider {
    return new FileCredentialsProvider(files, options);
  }

  /**
   * The credentials for a new connection. When the factory fails, it warns and returns the earlier credentials. Rejects
   * with the error of the factory if there are none.
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

  /**
   * Calls the factory now, and passes the credentials on to the workers that use this provider. Rejects with the error
   * of the factory.
   */
  refresh(): Promise<WorkerCredentials> {
    this.#loading ??= this.#ask().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  /** @internal Calls `changed` with credentials that replace the earlier ones, until the returned function is called. */
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

  /** Calls `changed` when there may be other credentials, until the returned function is called. */
  protected watchChanges(_changed: () => void): (() => void) | undefined {
    return undefined;
  }

  async #ask(): Promise<WorkerCredentials> {
    const given: unknown = await this.#factory();
    if (!(given instanceof WorkerCredentials)) {
      throw new InvalidArgument(
        `the factory of a WorkerCredentialsProvider must return WorkerCredentials, not ${describeValue(given)}`,
      );
    }
    const before = this.#current;
    if (before !== undefined && isSame(before, given)) return before;
    this.#current = given;
    if (before !== undefined) for (const listener of this.#listeners) listener(given);
    if (this.#listeners.size > 0) this.#schedule();
    return given;
  }

  /** A worker does not ask for its certificate, so it gets a new one well before the old one expires. */
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
    process.emitWarning(`cannot get new credentials, and the old ones stay in use: ${reason}`, "WoolWarning");
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

/** The value of options called `credentials`. */
export type CredentialsLike = WorkerCredentials | WorkerCredentialsProvider;

const fixed = new WeakMap<WorkerCredentials, WorkerCredentialsProvider>();

/** The provider for credentials that never change: one for each. */
export function providerOf(credentials: CredentialsLike): WorkerCredentialsProvider {
  if (credentials instanceof WorkerCredentialsProvider) return credentials;
  let provider = fixed.get(credentials);
  if (provider === undefined) {
    provider = new WorkerCredentialsProvider(() => credentials, { reloadable: false });
    fixed.set(credentials, provider);
  }
  return provider;
}

/** The expected kind of an option called `credentials`; undefined if the value is valid. */
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
 * Watches the directories of the files, and any change there counts: files are replaced by renaming, and mounted
 * secrets by a link beside them.
 */
function watchFiles(paths: readonly string[], changed: () => void): () => void {
  let settling: NodeJS.Timeout | undefined;
  const directories = new Set(paths.map((path) => dirname(resolve(path))));
  const watchers = [...directories].map((directory) => {
    const watcher = watch(directory, { persistent: false }, () => {
      clearTimeout(settling);
      settling = setTimeout(changed, SETTLING_MS).unref();
    });
    // The directory is gone, so there is nothing to read. New connections report that.
    watcher.on("error", () => watcher.close());
    return watcher;
  });
  return () => {
    clearTimeout(settling);
    for (const watcher of watchers) watcher.close();
  };
}
