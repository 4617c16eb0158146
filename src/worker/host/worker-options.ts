import type { ResourceLimits } from "node:worker_threads";
import { type Check, checkOptions, must } from "../../checks/index.ts";
import type { ChannelOptions } from "../../discovery/index.ts";
import { InvalidArgument } from "../../errors.ts";
import { type CredentialsLike, credentialsProblem } from "../../security/index.ts";
import { LEAST_MESSAGE_BYTES } from "../../wire/index.ts";
import { type AuthorizeLike, type BackpressureLike, LIMIT_CHECKS, type WorkerLimits } from "../shared/index.ts";

/** How a worker is set up. */
export interface WorkerOptions {
  /** Tags of the worker, for discovery filters. Default: none. */
  readonly tags?: readonly string[];
  /** Any other data to advertise. Default: none. */
  readonly extra?: Readonly<Record<string, string>>;
  /** The interface to listen on. Default: none, a private unix socket is used. */
  readonly host?: string;
  /** The port to listen on; needs `host`. Default: 0, any free one. */
  readonly port?: number;
  /** With credentials the worker accepts only callers with TLS. Default: none. */
  readonly credentials?: CredentialsLike;
  /** Task threads in the process. Default: 1. */
  readonly threads?: number;
  /** Most tasks that run at once in the process, in all of its threads together. Default: no limit. */
  readonly maxConcurrency?: number;
  /**
   * Called in the worker for each task that arrives, with its caller and the task. True lets it run, false refuses it
   * with `PermissionDenied`. Default: none, every caller that can connect may run tasks.
   */
  readonly authorize?: AuthorizeLike;
  /** Called in the worker for each task that arrives; true refuses it. Default: none. */
  readonly backpressure?: BackpressureLike;
  /**
   * Modules imported before the first task: packages of the project, URLs or paths from the working directory. Default:
   * none.
   */
  readonly preload?: readonly string[];
  /**
   * Run in each task thread before its first task, and awaited. It travels like any function. A function that it
   * returns is called when the worker stops in order. A disposable that it returns is disposed of. Both may be
   * asynchronous. A worker whose `setup` fails does not start. Default: none.
   */
  readonly setup?: () => unknown;
  /** Variables that are added to the environment of the process. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /**
   * Options for the Node.js executable. Default: none. Of the options of this process only `--conditions` and
   * `--preserve-symlinks` are passed on, so that modules resolve to the same files.
   */
  readonly execArgv?: readonly string[];
  /** Limits of each task thread, as for `node:worker_threads`. Default: those of Node.js. */
  readonly resourceLimits?: ResourceLimits;
  /** How much of the worker callers may use through one connection. Default: see `WorkerLimits`. */
  readonly limits?: WorkerLimits;
  /**
   * Bytes of shared values that the process keeps. Beyond that it drops the least recently used, and asks for them
   * again when they are needed. Larger values are refused. A value that a task uses stays with the task. Default: 1
   * GiB, or a quarter of the machine's memory if that is less.
   */
  readonly shareBudget?: number;
  /** How long a worker keeps an unused proxy to a pool that its tasks came from, in milliseconds. Default: 60,000. */
  readonly proxyPoolTtl?: number;
  /**
   * Longest time, in milliseconds, that a stopping worker gives to cancelled tasks, and after the last task to
   * disposers and to the timers and promises that finished tasks have left. Default: 1,000.
   */
  readonly shutdownGracePeriod?: number;
  /** Advertised to callers: how to talk to this worker. */
  readonly channel?: ChannelOptions;
}

/** A NUL character would end arguments and environment variables of a process. */
const withoutNul =
  (check: Check): Check =>
  (value) => {
    const expected = check(value);
    if (expected !== undefined) return expected;
    const texts = Object.entries(value as object).flat() as string[];
    return texts.some((text) => text.includes("\0")) ? "without NUL characters" : undefined;
  };

const CHECKS = {
  tags: must.texts,
  extra: must.textRecord,
  host: (value: unknown) => (must.filledText(value) === undefined ? undefined : "a host name or address"),
  port: must.wholeNumber(0, 65_535),
  credentials: credentialsProblem,
  threads: must.wholeNumber(1),
  maxConcurrency: must.wholeNumber(1),
  authorize: must.callable("a function that gets a caller and its task and returns whether the task may run"),
  backpressure: must.callable("a function that gets a task and returns whether to refuse it"),
  preload: must.texts,
  setup: must.callable("a function that prepares a task thread"),
  env: withoutNul(must.textRecord),
  execArgv: withoutNul(must.texts),
  resourceLimits: must.object,
  limits: must.object,
  shareBudget: must.limit(1),
  proxyPoolTtl: must.duration,
  shutdownGracePeriod: must.duration,
  channel: must.object,
};

const CHANNEL_CHECKS: Record<keyof ChannelOptions, Check> = {
  maxMessageBytes: must.wholeNumber(LEAST_MESSAGE_BYTES),
  keepaliveInterval: must.duration,
  keepaliveTimeout: must.duration,
  maxConcurrency: must.wholeNumber(1),
  threads: must.wholeNumber(1),
  compression: must.oneOf("none", "gzip"),
};

const RESOURCE_CHECKS: Record<keyof ResourceLimits, Check> = {
  maxOldGenerationSizeMb: must.aboveZero("megabytes"),
  maxYoungGenerationSizeMb: must.aboveZero("megabytes"),
  codeRangeSizeMb: must.aboveZero("megabytes"),
  stackSizeMb: must.aboveZero("megabytes"),
};

/** The threads and the concurrency of a worker are not options of its channel: it advertises what it has. */
function refuseContradiction({ channel = {}, ...options }: WorkerOptions, what: string): void {
  for (const name of ["threads", "maxConcurrency"] as const) {
    if (channel[name] === undefined || channel[name] === options[name]) continue;
    throw new InvalidArgument(
      `${what}: option "channel.${name}" is ${channel[name]}, and a worker advertises what it has: set "${name}" instead`,
    );
  }
}

/** Throws `InvalidArgument` for an option that is unknown, of the wrong kind, or lacks another that it needs. */
export function checkWorkerOptions(options: unknown, what: string): asserts options is WorkerOptions {
  checkOptions(options, CHECKS, what);
  const { host, port, channel, resourceLimits, limits } = options as WorkerOptions;
  if (limits !== undefined) checkOptions(limits, LIMIT_CHECKS, `${what}: limits`);
  if (channel !== undefined) checkOptions(channel, CHANNEL_CHECKS, `${what}: channel`);
  if (channel !== undefined) refuseContradiction(options as WorkerOptions, what);
  if (resourceLimits !== undefined) checkOptions(resourceLimits, RESOURCE_CHECKS, `${what}: resourceLimits`);
  if (port !== undefined && host === undefined) {
    throw new InvalidArgument(
      `${what}: option "port" needs a "host" to listen on, such as "127.0.0.1": without one a worker listens on a ` +
        "private unix socket, which has no port",
    );
  }
}
