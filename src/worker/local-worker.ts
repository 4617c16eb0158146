import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { isSea } from "node:sea";
import { pathToFileURL } from "node:url";
import type { WorkerMetadata } from "../discovery/index.ts";
import { WorkerStartError } from "../errors.ts";
import { projectRoot } from "../functions/index.ts";
import { GrpcChannel } from "../grpc/index.ts";
import { PoolDirectory } from "../security/index.ts";
import { encodeStopRequest } from "../wire/control-messages.ts";
import { PACKAGE_VERSION } from "../wire/version.ts";
import { shipHook } from "./backpressure.ts";
import { Worker } from "./worker.ts";
import { embeddedEntry, installedEntry, type WorkerEntry } from "./worker-entry.ts";
import type { WorkerOptions } from "./worker-options.ts";
import { WorkerProcess } from "./worker-process.ts";

const PROXY_POOL_TTL_MS = 60_000;
const SHUTDOWN_GRACE_MS = 60_000;
/** How long a process that was told to end may take beyond the time its tasks were given, in milliseconds. */
const STOP_GRACE_MS = 3000;
const STOP_REQUEST_MS = 1000;

/** What a pool decides for the workers that it starts. */
export interface LocalWorkerPlacement {
  /** Where the worker's socket goes. Default: a directory of its own. */
  readonly directory?: PoolDirectory;
  /** Whether task threads look for messages actively for a moment before they sleep. Default: if there are cores enough. */
  readonly spin?: boolean;
}

/** A worker in a child process of this one. */
export class LocalWorker extends Worker {
  readonly #placement: LocalWorkerPlacement;
  #own: PoolDirectory | undefined;
  #process: WorkerProcess | undefined;
  #isStopped = false;
  /** Called when the process ends without having been asked to, with how it ended. */
  onExit: ((reason: string) => void) | undefined;

  constructor(options: WorkerOptions = {}, placement: LocalWorkerPlacement = {}) {
    super(options);
    this.#placement = placement;
  }

  protected override async onStart(timeout: number | undefined): Promise<WorkerMetadata> {
    refuseSingleExecutable();
    const { options } = this;
    const { spin = (options.threads ?? 1) < availableParallelism() } = this.#placement;
    // What cannot travel is found out before there is anything to clean up.
    const backpressure = options.backpressure === undefined ? undefined : shipHook(options.backpressure);
    const directory = this.#placement.directory ?? new PoolDirectory();
    if (directory !== this.#placement.directory) this.#own = directory;
    const threads = options.threads ?? 1;
    try {
      // Only the embedded entry has to be waited for.
      const entry = installedEntry(this.#nodeOptions()) ?? (await embeddedEntry(directory));
      const child = this.#spawn(entry);
      const listen = await child.start(
        {
          uid: this.uid,
          listen:
            options.host === undefined
              ? { path: directory.socketPath(this.uid) }
              : { host: options.host, port: options.port ?? 0 },
          threads,
          maxConcurrency: options.maxConcurrency ?? 0,
          ...(backpressure === undefined ? {} : { backpressure }),
          preload: (options.preload ?? []).map(preloadSpecifier),
          ...(options.resourceLimits === undefined ? {} : { resourceLimits: options.resourceLimits }),
          root: projectRoot(),
          proxyPoolTtl: options.proxyPoolTtl ?? PROXY_POOL_TTL_MS,
          shutdownGracePeriod: options.shutdownGracePeriod ?? SHUTDOWN_GRACE_MS,
          spin,
          payloadDirectory: directory.bulkDirectory(),
          directory: directory.path,
        },
        timeout,
      );
      child.unref();
      void child.exited.then(() => this.onExit?.(child.ending ?? "it ended"));
      return {
        uid: this.uid,
        address: "path" in listen ? `unix:${listen.path}` : `${bracketed(listen.host)}:${listen.port}`,
        pid: child.pid ?? 0,
        version: PACKAGE_VERSION,
        tags: this.tags,
        extra: this.extra,
        secure: false,
        channel: { ...options.channel },
      };
    } catch (error) {
      await this.#process?.exited;
      await this.#own?.dispose();
      throw error;
    }
  }

  protected override async onStop(timeout: number): Promise<void> {
    this.#isStopped = true;
    const child = this.#process;
    this.onExit = undefined;
    if (child !== undefined && child.ending === undefined) await this.#end(child, timeout);
    await child?.exited;
    await this.#own?.dispose();
  }

  #spawn({ process: file }: WorkerEntry): WorkerProcess {
    if (this.#isStopped) throw new WorkerStartError(`worker ${this.uid} was stopped while it started`);
    const { execArgv = [], env = {} } = this.options;
    this.#process = new WorkerProcess({ name: this.uid, file, execArgv, env });
    return this.#process;
  }

  /** The options that Node.js is started with, from the command line and from the environment. */
  #nodeOptions(): string {
    const { execArgv = [], env = {} } = this.options;
    return [...execArgv, env["NODE_OPTIONS"] ?? process.env["NODE_OPTIONS"] ?? ""].join(" ");
  }

  /** Asks the process to end, and ends it when it does not. */
  async #end(child: WorkerProcess, timeout: number): Promise<void> {
    const { address } = this;
    const bounded = timeout >= 0 && Number.isFinite(timeout);
    const killer = bounded ? setTimeout(() => child.kill(), timeout + STOP_GRACE_MS) : undefined;
    try {
      if (address === undefined) child.kill();
      else await requestStop(address, timeout).catch(() => child.kill());
      await child.exited;
    } finally {
      clearTimeout(killer);
    }
  }
}

async function requestStop(address: string, timeout: number): Promise<void> {
  const channel = new GrpcChannel(address, { connectTimeout: STOP_REQUEST_MS });
  try {
    await channel.unary("/wool.v1.Worker/Stop", encodeStopRequest(timeout), { timeout: STOP_REQUEST_MS });
  } finally {
    await channel.close();
  }
}

/** Such an executable runs its own program whatever it is started with, which would start workers in turn. */
function refuseSingleExecutable(): void {
  if (!isSea()) return;
  throw new WorkerStartError(
    `a worker process cannot be started with ${process.execPath}: as a single executable application it runs its own ` +
      "program and no other. Run the program with Node.js, or start workers in a program that is, and have the pool " +
      "find them (discovery).",
  );
}

function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** Paths are meant from the working directory of the caller; anything else is left to the module loader. */
function preloadSpecifier(specifier: string): string {
  return specifier.startsWith(".") || specifier.startsWith("/") ? pathToFileURL(resolve(specifier)).href : specifier;
}
