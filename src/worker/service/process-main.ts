/** What runs in a worker process: the gRPC service, signals, and the pipe to the parent. */
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { WorkerStartError } from "../../errors.ts";
import { addReflection, GrpcServer, Health } from "../../grpc/index.ts";
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
import { isInForeground } from "./terminal.ts";
import { WorkerService } from "./worker-service.ts";

/** How long callers have to take what was sent to them before the process ends, in milliseconds. */
const FLUSH_GRACE_MS = 500;

/** How long the parent has to read what tasks printed before the process ends, in milliseconds. */
const LAST_OUTPUT_MS = 1000;

/** How long a worker whose parent is gone looks whether that is gone from the process table as well, in milliseconds. */
const ABANDONED_MS = 2000;
const ABANDONED_LOOK_MS = 20;

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
  const { credentials } = config;
  const server = new GrpcServer(credentials === undefined ? {} : { tls: serverTls(credentials) });
  const health = new Health(server);
  health.set("wool.v1.Worker", "serving");
  addReflection(server, async () => (await import("./reflected-files.ts")).REFLECTED_FILES);
  const service = new WorkerService(
    {
      uid: config.uid,
      about: config.about,
      threads: config.threads,
      maxConcurrency: config.maxConcurrency,
      resourceLimits: config.resourceLimits,
      credentials,
      thread: {
        root: config.root,
        preload: config.preload,
        ...(config.authorize === undefined ? {} : { authorize: config.authorize }),
        ...(config.backpressure === undefined ? {} : { backpressure: config.backpressure }),
        proxyPoolTtl: config.proxyPoolTtl,
        spin: config.spin,
        payloadDirectory: config.payloadDirectory,
      },
      stopRequested: (timeout) => {
        void ending.request(timeout);
        return Promise.resolve();
      },
      broken: (reason) => {
        console.error(`the worker ends: a task thread has ended, and no other can be started in its place: ${reason}`);
        exit(1);
      },
    },
    server,
    health,
  );
  const ending = new Shutdown(service, { cancelGrace: config.shutdownGracePeriod, flushGrace: FLUSH_GRACE_MS });
  shutdown = ending;
  replaceCredentials = (next) => {
    server.setTls(serverTls(next));
    service.useCredentials(next);
  };
  let isSignalled = false;
  const onSignal = (signal: NodeJS.Signals, timeout: number, isTyped: boolean): void => {
    process.on(signal, () => {
      // The program got it as well, and decides.
      if (isTyped && isInForeground()) return;
      isSignalled = true;
      ending.signal(timeout);
    });
  };
  onSignal("SIGTERM", 0, false);
  onSignal("SIGINT", -1, true);
  onSignal("SIGHUP", 0, true);
  onSignal("SIGQUIT", 0, true);
  // One whose parent is gone has to clean up first; a signal may have been for both of them.
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

function obey(command: ProcessCommand): void {
  if ("ping" in command) say({ pong: command.ping });
  else if ("credentials" in command) replaceCredentials?.(command.credentials);
  else void shutdown?.request(command.stop);
}

function after(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/**
 * The parent is gone: nobody is left to stop this process or to clean up after the pool. Its descriptors are closed a
 * moment before it is out of the process table, so its directory may not count as abandoned at once.
 */
async function abandoned(config: ProcessConfig): Promise<void> {
  orphaned = true;
  try {
    for (let waited = 0; waited < ABANDONED_MS; waited += ABANDONED_LOOK_MS) {
      if (!existsSync(config.directory) || (await PoolDirectory.removeAbandoned(config.directory))) break;
      await after(ABANDONED_LOOK_MS);
    }
    await PoolDirectory.sweepStale();
  } finally {
    exit(0);
  }
}

function exit(code: number): never {
  process.exit(code);
}

/** Where an error of ours was thrown helps nobody. */
function describe(error: unknown): string {
  if (error instanceof WorkerStartError) return error.message;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

/** The first line is the configuration, what follows are commands. */
function listen(): void {
  let configured = false;
  const lines = new ControlLines((line) => {
    if (configured) return obey(line as ProcessCommand);
    configured = true;
    start(line as ProcessConfig).catch((error: unknown) => {
      say({ ready: false, error: describe(error) });
      control.end(() => exit(1));
    });
  });
  control.setEncoding("utf8");
  control.on("data", (chunk: string) => lines.add(chunk));
}

// With the parent gone there is nobody to write to, which must not keep the worker from cleaning up.
for (const stream of [control, process.stdout, process.stderr]) stream.on("error", () => undefined);
listen();
