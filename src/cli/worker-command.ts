import { addressProblem, type DiscoveryPublisherLike, reachOf, type WorkerMetadata } from "../discovery/index.ts";
import { SpawnedWorkers } from "../pool/index.ts";
import { type ProcessEnd, ResilientWorker, type WorkerOptions } from "../worker/index.ts";
import {
  type Arguments,
  credentialsOf,
  DISCOVERY_HELP,
  DISCOVERY_OPTIONS,
  discoveryAt,
  discoveryOf,
  readArguments,
  refusePositionals,
} from "./arguments.ts";
import type { Terminal } from "./command.ts";
import { type Command, EXIT, UsageError } from "./command.ts";
import { reasonOf } from "./found-workers.ts";

const USAGE = "Usage: wool worker [--workers N] [--discovery URL] [--host HOST [--port PORT]] [OPTIONS]";

const HELP = `${USAGE}

Runs workers until it is told to stop. A worker that crashes is started again.

  --workers N      how many worker processes (1)
${DISCOVERY_HELP}
  --host HOST      listen on this address, 0.0.0.0 for all of them. Without it a
                   worker listens on a private socket that only you can reach.
                   Without TLS, anyone who reaches a worker can run code in it.
  --port PORT      the port of the first worker; the others get the next ones.
                   Without it the system chooses.
  --advertise HOST[:PORT]
                   where others reach the workers, if that is not where they
                   listen: behind NAT, or with published ports
  --name NAME      shown by wool ps, and accepted by wool stop
  --tag TAG        a tag of the workers; may be given more than once
  --extra KEY=VALUE
                   any other data to advertise
  --threads N      task threads in each process (1)
  --max-concurrency N
                   tasks that run at once in each process
  --preload MODULE import this before the first task; may be given more than once
  --grace MS       how long running tasks have after SIGTERM before they are
                   cancelled (0)
  --json           log lines as JSON, which is the default in a pipe
  --no-json        log lines as text

SIGINT waits for running tasks, SIGTERM gives them --grace; a second signal
cancels them. The exit status is 0 after an orderly stop, 1 if workers
could not be started or are lost for good, and 2 if the arguments are wrong.

Each worker serves grpc.health.v1.Health on its port, for probes.`;

const OPTIONS = {
  ...DISCOVERY_OPTIONS,
  workers: { type: "string" },
  host: { type: "string" },
  port: { type: "string" },
  advertise: { type: "string" },
  name: { type: "string" },
  tag: { type: "string", multiple: true },
  extra: { type: "string", multiple: true },
  threads: { type: "string" },
  "max-concurrency": { type: "string" },
  preload: { type: "string", multiple: true },
  grace: { type: "string" },
  json: { type: "boolean" },
  "no-json": { type: "boolean" },
} as const;

const START_LIMIT_MS = 60_000;

/** `wool worker`: runs workers until it is stopped. */
export const workerCommand: Command = {
  help: HELP,
  async run(args, terminal) {
    const { given, settings } = readWorkerArguments(args);
    const log = makeLog(given, terminal);
    // Instead of the output of Node.js.
    process.removeAllListeners("warning").on("warning", ({ message }) => log("warning", { message }, message));
    const credentials = credentialsOf(given);
    const discovery = await discoveryAt(settings.url, credentials);
    try {
      const running = new RunningWorkers(settings, advertising(discovery.value.publisher, settings), log, {
        ...settings.options,
        ...(credentials === undefined ? {} : { credentials }),
      });
      return await running.run();
    } finally {
      await discovery.dispose();
    }
  },
};

/** The settings from the options of `wool worker`. */
export interface WorkerSettings {
  readonly url: string;
  readonly workers: number;
  readonly grace: number;
  readonly port: number | undefined;
  readonly advertise: { readonly host: string; readonly port: string | undefined } | undefined;
  readonly options: WorkerOptions;
}

/** Parses the arguments of `wool worker`. Throws `UsageError` for wrong or contradictory ones. */
export function readWorkerArguments(args: readonly string[]): {
  readonly given: Arguments;
  readonly settings: WorkerSettings;
} {
  const given = readArguments(args, OPTIONS, USAGE);
  return { given, settings: readSettings(given) };
}

/** Reads the options for workers. Throws `UsageError` for wrong or contradictory ones. */
function readSettings(given: Arguments): WorkerSettings {
  refusePositionals(given, "worker", USAGE);
  const url = discoveryOf(given);
  const workers = given.whole("workers", 1, 10_000) ?? 1;
  const [host, port] = [given.text("host"), given.whole("port", 1, 65_535)];
  const advertise = readAdvertised(given.text("advertise"));
  if (given.has("json") && given.has("no-json")) throw new UsageError("--json and --no-json contradict each other");
  if (port !== undefined && host === undefined) throw new UsageError("--port needs --host, the address to listen on");
  if (advertise !== undefined && host === undefined) {
    throw new UsageError("--advertise needs --host: without it the workers listen on private sockets");
  }
  if (port !== undefined && port + workers - 1 > 65_535) {
    throw new UsageError(`${workers} workers from port ${port} on would need port ${port + workers - 1}, beyond 65535`);
  }
  if (advertise?.port !== undefined && workers > 1) {
    throw new UsageError("--advertise names one port, and --workers asks for more workers: leave the port out");
  }
  const scheme = url.slice(0, url.indexOf(":"));
  if (host === undefined && scheme !== "local" && scheme !== "pool") {
    throw new UsageError(
      `workers of ${scheme}: must listen where others reach them: add --host 0.0.0.0, or one address of this machine. ` +
        "Without TLS (--ca, --cert, --key) anyone who reaches them can run code in them",
    );
  }
  if (host !== undefined && given.has("ca") && !given.has("cert"))
    throw new UsageError("a worker with TLS needs --cert and --key");
  if (host === "") throw new UsageError("--host must be a host name or address, not empty");
  const name = given.text("name");
  if (name === "") throw new UsageError("--name must not be empty");
  const threads = given.whole("threads", 1, 1024);
  const maxConcurrency = given.whole("max-concurrency", 1);
  return {
    url,
    workers,
    port,
    advertise,
    grace: given.duration("grace") ?? 0,
    options: {
      tags: given.list("tag"),
      extra: readExtra(given, name),
      preload: given.all("preload"),
      ...(host === undefined ? {} : { host }),
      ...(threads === undefined ? {} : { threads }),
      ...(maxConcurrency === undefined ? {} : { maxConcurrency }),
    },
  };
}

function readAdvertised(text: string | undefined): WorkerSettings["advertise"] {
  if (text === undefined) return undefined;
  const [, host = text, port] = /^(\[[^\]]+\]|[^:]+):(\d+)$/.exec(text) ?? [];
  const problem = addressProblem(`${host}:${port ?? "1"}`);
  if (problem !== undefined) throw new UsageError(`--advertise takes HOST or HOST:PORT, not "${text}"`);
  if (reachOf(`${host}:1`) === "any") {
    throw new UsageError(`--advertise takes an address that others can connect to, and ${host} is not one`);
  }
  return { host, port };
}

function readExtra(given: Arguments, name: string | undefined): Record<string, string> {
  const extra = new Map(name === undefined ? [] : [["name", name]]);
  for (const pair of given.all("extra")) {
    const at = pair.indexOf("=");
    if (at < 1) throw new UsageError(`--extra takes KEY=VALUE, not "${pair}"`);
    const [key, value] = [pair.slice(0, at), pair.slice(at + 1)];
    const before = extra.get(key);
    if (before !== undefined && before !== value) {
      const source = key === "name" && name !== undefined ? "--name" : "another --extra";
      throw new UsageError(`--extra ${pair} contradicts ${source}, which says "${before}"`);
    }
    extra.set(key, value);
  }
  return Object.fromEntries(extra);
}

/**
 * A publisher that announces workers at the address where others reach them. It does nothing if the discovery has no
 * publisher.
 */
function advertising(
  publisher: DiscoveryPublisherLike | undefined,
  { advertise }: WorkerSettings,
): DiscoveryPublisherLike {
  const announced = (worker: WorkerMetadata): WorkerMetadata => {
    const port = advertise?.port ?? worker.address.slice(worker.address.lastIndexOf(":") + 1);
    return advertise === undefined ? worker : { ...worker, address: `${advertise.host}:${port}` };
  };
  return { publish: async (type, worker) => await publisher?.publish(type, announced(worker)) };
}

type Log = (event: string, fields: Readonly<Record<string, string | number>>, text: string) => void;

/** Writes a line for each event. */
function makeLog(given: Arguments, terminal: Terminal): Log {
  const isPiped = terminal.columns === Number.POSITIVE_INFINITY;
  if (given.has("json") || (isPiped && !given.has("no-json"))) {
    return (event, fields) => terminal.print(JSON.stringify({ time: new Date().toISOString(), event, ...fields }));
  }
  return (_event, _fields, text) => {
    terminal.print(`${terminal.tone("faint", new Date().toISOString().slice(11, 19))} ${text}`);
  };
}

/** A worker that remembers whether its last process was told to end. */
class CommandedWorker extends ResilientWorker {
  hasEndedInOrder = false;

  protected override processEnded(end: ProcessEnd, lastWords: string): void {
    this.hasEndedInOrder = end.orderly;
    super.processEnded(end, lastWords);
  }
}

/** The workers of one command, from their start to their end. */
class RunningWorkers {
  readonly #settings: WorkerSettings;
  readonly #log: Log;
  readonly #spawned: SpawnedWorkers;
  /** Workers that have not ended, by uid. */
  readonly #left = new Map<string, CommandedWorker>();
  #stopping: Promise<void> | undefined;
  #isBad = false;
  #ended: () => void = () => undefined;

  constructor(settings: WorkerSettings, publisher: DiscoveryPublisherLike, log: Log, options: WorkerOptions) {
    this.#settings = settings;
    this.#log = log;
    let next = settings.port;
    this.#spawned = new SpawnedWorkers({
      make: () => {
        const worker = new CommandedWorker({ ...options, ...(next === undefined ? {} : { port: next++ }) });
        this.#left.set(worker.uid, worker);
        return worker;
      },
      publisher: {
        publish: async (type, worker) => {
          await publisher.publish(type, worker);
          if (type !== "worker-dropped") this.#announced(worker);
        },
      },
      startLimit: START_LIMIT_MS,
      made: () => undefined,
      present: () => undefined,
      gone: () => undefined,
      missed: (uid) => log("lost", { uid }, `${uid} has crashed and is started again`),
      lost: (uid, error) => this.#lost(uid, error),
    });
  }

  /** Runs them until they have ended, and returns the exit status. */
  async run(): Promise<number> {
    const ended = new Promise<void>((resolve) => {
      this.#ended = resolve;
    });
    const { grace, workers, url } = this.#settings;
    const onInterrupt = (): void => this.#stop("SIGINT", Number.POSITIVE_INFINITY);
    const onTerminate = (): void => this.#stop("SIGTERM", grace);
    process.on("SIGINT", onInterrupt).on("SIGTERM", onTerminate);
    // Workers do not keep the command running, so this does.
    const alive = setInterval(() => undefined, 2 ** 30);
    try {
      await this.#spawned.start(workers);
      this.#log(
        "ready",
        { workers, discovery: url },
        `${workers} ${workers === 1 ? "worker is" : "workers are"} ready`,
      );
      await ended;
    } catch (error) {
      if (this.#stopping === undefined) {
        this.#isBad = true;
        this.#log("failed", { error: reasonOf(error) }, `the workers could not be started: ${reasonOf(error)}`);
      }
    }
    this.#stopping ??= this.#spawned.stop(0);
    await this.#stopping.catch((error: unknown) => {
      this.#isBad = true;
      this.#log("failed", { error: reasonOf(error) }, `not all workers could be stopped: ${reasonOf(error)}`);
    });
    clearInterval(alive);
    process.off("SIGINT", onInterrupt).off("SIGTERM", onTerminate);
    this.#log("stopped", {}, "all workers have stopped");
    return this.#isBad ? EXIT.negative : EXIT.ok;
  }

  #announced({ uid, address, pid }: WorkerMetadata): void {
    this.#log("worker", { uid, address, pid }, `worker ${uid} takes tasks at ${address} (process ${pid})`);
  }

  #stop(signal: string, timeout: number): void {
    if (this.#stopping !== undefined) {
      this.#log("hurrying", { signal }, `${signal} again: running tasks are cancelled`);
      this.#spawned.hurry(0);
      return;
    }
    const time = Number.isFinite(timeout) ? `have ${timeout} ms` : "have all the time they need";
    this.#log("stopping", { signal }, `${signal}: the workers take no new tasks, running tasks ${time}`);
    this.#stopping = this.#spawned.stop(timeout);
    this.#stopping.then(this.#ended, this.#ended);
  }

  /** A worker has ended and is not started again: it was told to end, or crashed too often. */
  #lost(uid: string, error: Error): void {
    if (this.#left.get(uid)?.hasEndedInOrder !== true) this.#isBad = true;
    this.#log("ended", { uid, reason: reasonOf(error) }, `${uid} has ended: ${reasonOf(error)}`);
    this.#left.delete(uid);
    if (this.#left.size === 0) this.#ended();
  }
}
