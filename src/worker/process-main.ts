/** What runs in a worker process: the gRPC service, signals, and the pipe to the parent. */
import { existsSync } from "node:fs";
import { Socket } from "node:net";
import { addReflection, GrpcServer, Health } from "../grpc/index.ts";
import { PoolDirectory } from "../security/index.ts";
import { CONTROL_FD, type ProcessConfig, type ProcessReport } from "./process-config.ts";
import { WorkerService } from "./worker-service.ts";

/** How long cancelled tasks have to end before the process does, in milliseconds. */
const CANCEL_GRACE_MS = 1000;
/** How long callers have to take what was sent to them before the process ends, in milliseconds. */
const FLUSH_GRACE_MS = 500;

/** How long a worker whose parent is gone looks whether that is gone from the process table as well, in milliseconds. */
const ABANDONED_MS = 2000;
const ABANDONED_LOOK_MS = 20;

const control = new Socket({ fd: CONTROL_FD, readable: true, writable: true });
let service: WorkerService | undefined;
let stopping: Promise<void> | undefined;
let hurry: (() => void) | undefined;
let orphaned = false;

function report(message: ProcessReport): void {
  control.write(`${JSON.stringify(message)}\n`);
}

async function start(config: ProcessConfig): Promise<void> {
  const server = new GrpcServer();
  const health = new Health(server);
  health.set("wool.v1.Worker", "serving");
  addReflection(server, async () => (await import("./reflected-files.ts")).REFLECTED_FILES);
  service = new WorkerService(
    {
      uid: config.uid,
      threads: config.threads,
      resourceLimits: config.resourceLimits,
      thread: {
        root: config.root,
        preload: config.preload,
        maxConcurrency: config.maxConcurrency,
        ...(config.backpressure === undefined ? {} : { backpressure: config.backpressure }),
        proxyPoolTtl: config.proxyPoolTtl,
        spin: config.spin,
        payloadDirectory: config.payloadDirectory,
      },
      stopRequested: (timeout) => {
        setImmediate(() => void stopAndExit(timeout, config));
        return Promise.resolve();
      },
    },
    server,
    health,
  );
  process.on("SIGTERM", () => void stopAndExit(0, config));
  process.on("SIGINT", () => void stopAndExit(-1, config));
  control.on("close", () => void abandoned(config));
  const listen = await service.start(config.listen);
  report({ ready: true, listen });
}

async function stopAndExit(timeout: number, config: ProcessConfig): Promise<void> {
  await stop(timeout, config);
  // One whose parent is gone has to clean up first.
  if (!orphaned) exit(0);
}

/** Lets running tasks end, or cancels them, as `timeout` says. A second request hurries the first. */
async function stop(timeout: number, config: ProcessConfig): Promise<void> {
  if (stopping !== undefined) {
    hurry?.();
    return await stopping;
  }
  stopping = drain(timeout, config);
  await stopping;
}

async function drain(timeout: number, config: ProcessConfig): Promise<void> {
  const running = service;
  if (running === undefined) return;
  const drained = running.drain();
  const hurried = new Promise<void>((resolve) => {
    hurry = resolve;
  });
  if (timeout < 0) await Promise.race([drained, hurried]);
  else if (timeout > 0) await Promise.race([drained, hurried, after(timeout)]);
  if (running.live > 0) {
    running.cancel();
    await Promise.race([drained, hurried, after(Math.min(CANCEL_GRACE_MS, config.shutdownGracePeriod))]);
  }
  await running.close(FLUSH_GRACE_MS);
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
  hurry?.();
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

function readConfig(): void {
  let text = "";
  control.setEncoding("utf8");
  control.on("data", (chunk: string) => {
    text += chunk;
    const end = text.indexOf("\n");
    if (end < 0) return;
    const line = text.slice(0, end);
    text = "";
    start(JSON.parse(line) as ProcessConfig).catch((error: unknown) => {
      report({ ready: false, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
      control.end(() => exit(1));
    });
  });
}

readConfig();
