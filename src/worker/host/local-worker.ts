import { rmSync } from "node:fs";
import { BlockList, isIP } from "node:net";
import { isSea } from "node:sea";
import { messageOf } from "../../checks/index.ts";
import type { WorkerMetadata } from "../../discovery/index.ts";
import { InvalidArgument, WorkerStartError } from "../../errors.ts";
import { notePreparation, projectRoot } from "../../functions/index.ts";
import type { ListenAddress } from "../../grpc/index.ts";
import { availableCores, PoolDirectory } from "../../host/index.ts";
import {
  credentialsText,
  providerOf,
  type WorkerCredentials,
  type WorkerCredentialsProvider,
} from "../../security/index.ts";
import { MEMORY_BYTES, PACKAGE_VERSION } from "../../wire/index.ts";
import {
  completeLimits,
  type ProcessCredentials,
  preloadSpecifier,
  shipHook,
  type ThreadStart,
} from "../shared/index.ts";
import { refuseOutsideTasks } from "./refuse-outside-tasks.ts";
import { Worker } from "./worker.ts";
import { embeddedEntry, installedEntry } from "./worker-entry.ts";
import type { WorkerOptions } from "./worker-options.ts";
import { type ProcessEnd, WorkerProcess } from "./worker-process.ts";

const LOOPBACK = new BlockList();
LOOPBACK.addSubnet("127.0.0.0", 8, "ipv4");
LOOPBACK.addAddress("::1", "ipv6");

const PROXY_POOL_TTL_MS = 60_000;
const SHARE_BUDGET_BYTES = Math.min(2 ** 30, Math.floor(MEMORY_BYTES / 4));
/**
 * How long cancelled tasks have to end, and then the timers and promises that finished tasks have left, in
 * milliseconds.
 */
const SHUTDOWN_GRACE_MS = 1000;

/** What a pool decides for the workers that it starts. */
export interface LocalWorkerPlacement {
  /** Where the worker's socket goes. Default: the worker's own directory. */
  readonly directory?: PoolDirectory;
  /** Whether task threads poll for messages for a moment before they sleep. Default: if there are enough cores. */
  readonly spin?: boolean;
}

/** A worker in a child process of this one. */
export class LocalWorker extends Worker {
  readonly #placement: LocalWorkerPlacement;
  #own: PoolDirectory | undefined;
  #process: WorkerProcess | undefined;
  #isStopped = false;
  /** The port that the system gave to the first process. Later processes of this worker use it again. */
  #port: number | undefined;

  /** Throws `InvalidArgument` for options that are wrong. */
  constructor(options?: WorkerOptions);
  /** @internal */
  constructor(options: WorkerOptions, placement: LocalWorkerPlacement);
  constructor(options: WorkerOptions = {}, placement: LocalWorkerPlacement = {}) {
    super(options);
    this.#placement = placement;
  }

  protected override async onStart(timeout: number): Promise<WorkerMetadata> {
    refuseSingleExecutable();
    refuseOutsideTasks(`${this.constructor.name}.start()`);
    try {
      const metadata = await this.launch(timeout, "foreground");
      this.#warnIfExposed();
      return metadata;
    } catch (error) {
      await this.#own?.dispose();
      throw error;
    }
  }

  protected override async onStop(timeout: number): Promise<void> {
    this.#isStopped = true;
    const child = this.#process;
    if (child !== undefined) {
      // A process that is not ready has no tasks.
      if (this.metadata === undefined || this.metadata.pid !== child.pid) child.kill();
      await child.stop(timeout);
    }
    await this.#own?.dispose();
  }

  protected override onHurry(timeout: number): void {
    void this.#process?.stop(timeout);
  }

  /** @internal The process ended without this worker being stopped. */
  protected processEnded(end: ProcessEnd, _lastWords: string): void {
    const { metadata } = this;
    if (metadata !== undefined) this.changed({ kind: "lost", metadata, reason: end.reason, final: true });
  }

  /**
   * @internal Starts a process and waits until it takes tasks; leaves none behind when that fails. A start in the
   * background does not keep the program alive.
   */
  protected async launch(timeout: number, where: "foreground" | "background"): Promise<WorkerMetadata> {
    const { options } = this;
    const threads = options.threads ?? 1;
    const { maxConcurrency } = options;
    const channel = {
      ...options.channel,
      // More threads than tasks that may run at once would be useless.
      threads: Math.min(threads, maxConcurrency ?? threads),
      ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    };
    const { spin = threads < availableCores() } = this.#placement;
    // A hook that cannot travel fails here, before there is anything to clean up.
    const backpressure =
      options.backpressure === undefined ? undefined : shipHook(options.backpressure, "backpressure");
    const authorize = options.authorize === undefined ? undefined : shipHook(options.authorize, "authorize");
    const setup = options.setup === undefined ? undefined : shipHook(options.setup, "setup");
    const preload = (options.preload ?? []).map(preloadSpecifier);
    notePreparation(preload, options.setup);
    const directory = this.#directory();
    // Only the embedded entry is asynchronous.
    const entry = installedEntry(this.#nodeOptions()) ?? (await embeddedEntry(directory));
    const { credentials: given } = options;
    const provider = given === undefined ? undefined : providerOf(given);
    const credentials = provider === undefined ? undefined : processCredentials(await provider.load(), provider);
    const secure = provider !== undefined;
    const child = this.#spawn(entry, { threads: channel.threads, resourceLimits: options.resourceLimits });
    if (where === "background") child.unref();
    let listen: ListenAddress;
    try {
      const starting = child.start(
        {
          uid: this.uid,
          about: { version: PACKAGE_VERSION, tags: [...this.tags], extra: this.extra, secure, channel },
          listen: this.#listenAddress(directory),
          threads,
          maxConcurrency: options.maxConcurrency ?? 0,
          ...(authorize === undefined ? {} : { authorize }),
          ...(backpressure === undefined ? {} : { backpressure }),
          ...(setup === undefined ? {} : { setup }),
          ...(credentials === undefined ? {} : { credentials }),
          preload,
          ...(options.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
          limits: completeLimits({ keepaliveTimeout: channel.keepaliveTimeout, ...options.limits }),
          root: projectRoot(),
          proxyPoolTtl: options.proxyPoolTtl ?? PROXY_POOL_TTL_MS,
          shutdownGracePeriod: options.shutdownGracePeriod ?? SHUTDOWN_GRACE_MS,
          shareBudget: options.shareBudget ?? SHARE_BUDGET_BYTES,
          spin,
          payloadDirectory: directory.bulkDirectory(),
          directory: directory.path,
        },
        timeout,
      );
      if (provider !== undefined) this.#passOn(provider, child);
      listen = await starting;
    } catch (error) {
      // Another program may use the port of the earlier process by now. The next start takes any port.
      this.#port = undefined;
      await child.exited;
      // For a worker that was stopped, the end of its process is no error.
      this.#refuseStopped();
      throw error;
    }
    child.unref();
    void child.exited.then((end) => {
      if (!this.#isStopped) this.processEnded(end, child.lastWords);
    });
    if ("port" in listen) this.#port = listen.port;
    return {
      uid: this.uid,
      address: "path" in listen ? `unix:${listen.path}` : `${bracketed(listen.host)}:${listen.port}`,
      pid: child.pid ?? 0,
      version: PACKAGE_VERSION,
      tags: this.tags,
      extra: this.extra,
      secure,
      channel,
    };
  }

  /** Passes replaced credentials on to the process, while it runs. */
  #passOn(provider: WorkerCredentialsProvider, child: WorkerProcess): void {
    const unsubscribe = provider.subscribe((credentials) => {
      try {
        child.useCredentials(processCredentials(credentials, provider));
      } catch (error) {
        const reason = messageOf(error);
        process.emitWarning(`worker ${this.uid} keeps its old credentials: ${reason}`, "WoolWarning");
      }
    });
    void child.exited.then(unsubscribe);
  }

  #directory(): PoolDirectory {
    const directory = this.#placement.directory ?? (this.#own ??= new PoolDirectory());
    directory.restore();
    return directory;
  }

  #listenAddress(directory: PoolDirectory): ListenAddress {
    const { host, port } = this.options;
    if (host !== undefined) return { host, port: port ?? this.#port ?? 0 };
    const path = directory.socketPath(this.uid);
    // A process that crashed leaves its socket behind.
    rmSync(path, { force: true });
    return { path };
  }

  #spawn(file: string, threads: ThreadStart): WorkerProcess {
    this.#refuseStopped();
    const { execArgv = [], env = {}, shutdownGracePeriod: cancelGrace = SHUTDOWN_GRACE_MS } = this.options;
    this.#process = new WorkerProcess({ name: this.uid, file, threads, execArgv, env, cancelGrace });
    return this.#process;
  }

  /** Warns that anyone who reaches a worker without credentials can run code in it. */
  #warnIfExposed(): void {
    const { host, credentials } = this.options;
    if (host === undefined || credentials !== undefined) return;
    const who = isLoopback(host) ? "every user of this machine" : "anyone who can reach it there";
    process.emitWarning(
      `worker ${this.uid} listens on ${host} without credentials: ${who} can run code in it. Give it credentials, or ` +
        "no host, so that it listens on a private unix socket",
      "WoolWarning",
    );
  }

  #refuseStopped(): void {
    if (this.#isStopped) throw new WorkerStartError(`worker ${this.uid} was stopped while it started`);
  }

  /** The options that the process gives to Node.js, from the command line and from the environment. */
  #nodeOptions(): string {
    const { execArgv = [], env = {} } = this.options;
    return [...execArgv, env["NODE_OPTIONS"] ?? process.env["NODE_OPTIONS"] ?? ""].join(" ");
  }
}

/** A single executable application always runs its own program. As a worker, it would start workers in turn. */
function refuseSingleExecutable(): void {
  if (!isSea()) return;
  throw new WorkerStartError(
    `a worker process cannot be started with ${process.execPath}: as a single executable application it runs its own ` +
      "program. Run the program with Node.js, or start workers in a program that runs with Node.js, and have the pool " +
      "find them (discovery).",
  );
}

function processCredentials(
  credentials: WorkerCredentials,
  { identity }: WorkerCredentialsProvider,
): ProcessCredentials {
  const text = credentialsText(credentials);
  if (text.key === undefined) {
    throw new InvalidArgument(
      "the credentials of a worker need a key and a cert: only credentials of a caller may lack them",
    );
  }
  return { ...text, identity };
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Whether a server on this host is reachable from this machine only. A name other than localhost may mean any address. */
export function isLoopback(host: string): boolean {
  const version = isIP(host);
  if (version === 0) return host.toLowerCase() === "localhost";
  return LOOPBACK.check(host, version === 6 ? "ipv6" : "ipv4");
}
