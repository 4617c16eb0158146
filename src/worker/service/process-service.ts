/** What runs in a worker process: the gRPC service, signals, and the pipe to the parent. */

import { Socket } from "node:net";
import { stackOf } from "../../checks/index.ts";
import { parseChannelOptions } from "../../discovery/index.ts";
import { WorkerStartError } from "../../errors.ts";
import {
  addReflection,
  DEFAULT_MAX_MESSAGE_BYTES,
  GrpcServer,
  type GrpcServerOptions,
  Health,
} from "../../grpc/index.ts";
import { PoolDirectory } from "../../host/index.ts";
import { serverTls } from "../../security/index.ts";
import {
  CONTROL_FD,
  ControlLines,
  type ProcessCommand,
  type ProcessConfig,
  type ProcessCredentials,
  type ProcessWord,
  within,
  written,
} from "../shared/index.ts";
import { Shutdown } from "./shutdown.ts";
import { ThreadStartFailure } from "./task-thread.ts";
import { isInForeground } from "./terminal.ts";
import { WorkerService } from "./worker-service.ts";

/** How often silent callers are pinged, in milliseconds, unless the channel's options say otherwise. */
const KEEPALIVE_INTERVAL_MS = 60_000;

/** How long callers have to read what was sent to them before the process ends, in milliseconds. */
const FLUSH_GRACE_MS = 500;

/** How long the parent has to read what tasks printed before the process ends, in milliseconds. */
const LAST_OUTPUT_MS = 1000;

/** How long a parent that got the same signal may take to end, in milliseconds. */
const SAME_SIGNAL_MS = 200;

const control = new Socket({ fd: CONTROL_FD, readable: true, writable: true });
let shutdown: Shutdown | undefined;
let replaceCredentials: ((credentials: ProcessCredentials) => void) | undefined;
let orphaned = false;

function say(word: ProcessWord): void {
  control.write(`${JSON.stringify(word)}\n`);
}

async function start(config: ProcessConfig): Promise<void> {
  const { credentials, limits } = config;
  const server = new GrpcServer({
    ...(credentials === undefined ? {} : { tls: serverTls(credentials) }),
    ...channelOf(config),
    maxConnections: limits.maxConnections,
    maxMetadataBytes: limits.maxMetadataBytes,
    handshakeTimeout: limits.handshakeTimeout,
    requestTimeout: limits.requestTimeout,
    idleTimeout: limits.idleTimeout,
    keepaliveInterval: parseChannelOptions(config.about.channel).channel?.keepaliveInterval ?? KEEPALIVE_INTERVAL_MS,
    keepaliveTimeout: limits.keepaliveTimeout,
  });
  const health = new Health(server);
  health.set("wool.v1.Worker", "serving");
  addReflection(server, async () => (await import("./reflected-files.ts")).REFLECTED_FILES);
  const service = new WorkerService(
    {
      uid: config.uid,
      about: config.about,
      threads: config.threads,
      maxConcurrency: config.maxConcurrency,
      maxSessions: limits.maxSessions,
      resourceLimits: config.resourceLimits,
      credentials,
      thread: {
        limits,
        root: config.root,
        preload: config.preload,
        ...(config.authorize === undefined ? {} : { authorize: config.authorize }),
        ...(config.backpressure === undefined ? {} : { backpressure: config.backpressure }),
        ...(config.setup === undefined ? {} : { setup: config.setup }),
        proxyPoolTtl: config.proxyPoolTtl ?? Number.POSITIVE_INFINITY,
        shareBudget: config.shareBudget ?? Number.POSITIVE_INFINITY,
        spin: config.spin,
        payloadDirectory: config.payloadDirectory,
        maxMessageBytes: config.about.channel.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES,
      },
      stopRequested: (timeout) => {
        void ending.request(timeout);
        return Promise.resolve();
      },
      broken: (reason) => {
        console.error(`the worker ends: a task thread has ended and cannot be replaced: ${reason}`);
        exit(1);
      },
    },
    server,
    health,
  );
  const ending = new Shutdown(service, {
    cancelGrace: config.shutdownGracePeriod ?? Number.POSITIVE_INFINITY,
    flushGrace: FLUSH_GRACE_MS,
  });
  shutdown = ending;
  replaceCredentials = (next) => {
    server.setTls(serverTls(next));
    service.useCredentials(next);
  };
  let isSignalled = false;
  const onSignal = (signal: NodeJS.Signals, timeout: number, isTyped: boolean): void => {
    process.on(signal, () => {
      // The program got the signal too, and decides.
      if (isTyped && isInForeground()) return;
      isSignalled = true;
      ending.signal(timeout);
    });
  };
  onSignal("SIGTERM", 0, false);
  onSignal("SIGINT", -1, true);
  onSignal("SIGHUP", 0, true);
  onSignal("SIGQUIT", 0, true);
  // If the parent is gone, the worker must clean up first. The parent may have got the same signal, and be about to
  // end.
  void ending.ended
    .then(() => within(LAST_OUTPUT_MS, Promise.all([written(process.stdout), written(process.stderr)])))
    .then(() => (isSignalled ? after(SAME_SIGNAL_MS) : undefined))
    .finally(() => {
      if (!orphaned) exit(0);
    });
  control.on("close", () => void abandoned(config));
  const listen = await service.start(config.listen);
  say({ ready: true, listen });
}

/** The message options that it advertises and follows. Compression is for networks. */
function channelOf({ about: { channel }, listen: where }: ProcessConfig): GrpcServerOptions {
  const { maxMessageBytes, compression } = channel;
  return {
    ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
    ...(compression === "gzip" && "host" in where ? { compression } : {}),
  };
}

function obey(command: ProcessCommand): void {
  if ("ping" in command) say({ pong: command.ping });
  else if ("credentials" in command) replaceCredentials?.(command.credentials);
  else void shutdown?.request(command.stop);
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * The parent is gone, or the thread of the parent that had the pool. Nobody else stops this process or cleans up after
 * the pool.
 */
async function abandoned(config: ProcessConfig): Promise<void> {
  orphaned = true;
  try {
    await PoolDirectory.removeOrphaned(config.directory);
    await PoolDirectory.sweepStale();
  } finally {
    exit(0);
  }
}

function exit(code: number): never {
  process.exit(code);
}

/** The stack of an error of the runtime does not help the user. */
function describe(error: unknown): string {
  if (error instanceof WorkerStartError || error instanceof ThreadStartFailure) return error.message;
  return stackOf(error);
}

/** The first line is the configuration. The next lines are commands. */
function listen(): void {
  let configured = false;
  const lines = new ControlLines((line) => {
    if (configured) return obey(line as ProcessCommand);
    configured = true;
    start(line as ProcessConfig).catch((error: unknown) => {
      const thrown = error instanceof ThreadStartFailure ? error.thrown : undefined;
      say({ ready: false, error: describe(error), ...(thrown === undefined ? {} : { thrown }) });
      control.end(() => exit(1));
    });
  });
  // The task threads that wait for their configuration would keep the process.
  control.on("close", () => {
    if (!configured) exit(1);
  });
  control.setEncoding("utf8");
  control.on("data", (chunk: string) => lines.add(chunk));
}

// Writing fails when the parent is gone. That must not keep the worker from cleaning up.
for (const stream of [control, process.stdout, process.stderr]) stream.on("error", () => undefined);
listen();
