/** What runs in a task thread: the executor, and the ports to the gRPC thread. */

import { once } from "node:events";
import { parentPort } from "node:worker_threads";
import { registerCallerExports } from "../../caller-exports.ts";
import { stackOf } from "../../checks/index.ts";
import { configureRoot, registerRuntimeExportsLater } from "../../functions/index.ts";
import { payloadFiles } from "../../host/index.ts";
import {
  currentCallContext,
  currentTask,
  disposeThreadValues,
  keepForThread,
  markTaskThread,
} from "../../routine/index.ts";
import { registerTaskExports } from "../../task-exports.ts";
import {
  ConcurrencyPermits,
  type FromThread,
  messageWeight,
  preload,
  receiveValue,
  SESSION_PREFIX_BYTES,
  type ShippedValue,
  shipThrown,
  ThreadBoard,
  type ThreadConfiguration,
  type ToThread,
  UnfinishedPayloads,
  written,
} from "../shared/index.ts";
import { DirectLanes } from "./direct-lanes.ts";
import { Executor } from "./executor.ts";
import { IntrinsicGuard } from "./intrinsic-guard.ts";
import { ProxyCache } from "./proxy-cache.ts";
import { separateLines } from "./task-lines.ts";

/**
 * How long a thread polls for the next message before it sleeps, in milliseconds. One call at a time: 24,200 calls/s with it,
 * 12,400 without.
 */
const SPIN_MS = 0.25;
/** Most occasions to poll that are skipped after polling without success. */
const MOST_PASSES = 255;
/**
 * How many turns of the event loop a task may take to end while polling continues. Most tasks that are worth it end in
 * one or two.
 */
const MOST_TASK_TURNS = 8;
/** Messages up to this size usually come from a caller that waits for each answer. */
const PULSE_BYTES = 96;

const { config, port } = await configuration();
const board = new ThreadBoard(config.board);
/** Occasions to poll that are still to be skipped, and how many were skipped after the last poll without success. */
let passes = 0;
let vain = 0;
/** When polling ends, since when the thread has been idle, and how many more turns a task has to end. */
let isPolling = false;
let pollEnd = 0;
let idleSince = 0;
let turnsForTask = 0;

/** Set when the thread is ready for tasks. */
let guard: IntrinsicGuard | undefined;
let isSpoiled = false;

const proxies = new ProxyCache(config.proxyPoolTtl);
const unfinished = new UnfinishedPayloads({ memory: config.unfinished, lane: config.lane, ...config.limits });
const lanes = new DirectLanes({
  maxMessageBytes: config.maxMessageBytes,
  message: (session, buffer, start, end) => {
    if (!isSound()) return;
    if (board.arrived()) tell({ kind: "busy" });
    take(session, buffer, start, end);
  },
  held: (session, isBehind) => unfinished.message({ isBehind, expel: (reason) => executor.expel(session, reason) }),
  sent: (session, bytes) => executor.sent(session, bytes),
  cut: (session, reason) => tell({ kind: "cut", session, reason }),
});
const executor = new Executor({
  uid: config.uid,
  board,
  concurrency:
    config.permits === undefined
      ? undefined
      : { permits: new ConcurrencyPermits(config.permits), lane: config.lane, announce: () => tell({ kind: "room" }) },
  announcePool: (pool, known) => proxies.announce(pool, known),
  finished: (session) => {
    if (lanes.has(session)) void lanes.flushed(session).then(() => tell({ kind: "finished", session }));
    else tell({ kind: "finished", session });
  },
  malformed: (session, reason) => {
    tell({ kind: "malformed", session, reason });
    lanes.close(session);
  },
  exhausted: (session, reason) => {
    tell({ kind: "exhausted", session, reason });
    lanes.drop(session);
  },
  hold: (session, isHeld) => {
    if (lanes.has(session)) lanes.hold(session, isHeld);
    else tell({ kind: "hold", session, isHeld });
  },
  isSound,
  limits: config.limits,
  unfinished,
  shareBudget: config.shareBudget,
  share: tell,
  drained: () => tell({ kind: "drained" }),
});

for (const stream of [process.stdout, process.stderr]) separateLines(stream, () => currentCallContext()?.task);

/**
 * False once a task has replaced a part of the language that the runtime relies on. Nothing that this thread does after
 * that can be trusted, so it is replaced, and the callers of its tasks are told.
 */
function isSound(): boolean {
  if (isSpoiled) return false;
  const replaced = guard?.replaced();
  if (replaced === undefined) return true;
  isSpoiled = true;
  const reason = `a task replaced ${replaced}, which the runtime relies on (do that in the worker option "setup" instead)`;
  tell({ kind: "spoiled", reason });
  return false;
}

function tell(message: FromThread): void {
  port.postMessage(message);
}

/**
 * Without a lane a message is transferred to the gRPC thread. It is copied first: transferring a part of a larger
 * buffer would copy the whole buffer.
 */
function send(session: number, message: Buffer): boolean {
  if (!isSound()) return true;
  if (lanes.has(session)) return lanes.send(session, message.subarray(SESSION_PREFIX_BYTES));
  const memory = new ArrayBuffer(message.length);
  const copy = Buffer.from(memory);
  message.copy(copy);
  copy.writeUInt32LE(session, 0);
  port.postMessage(memory, [memory]);
  return true;
}

function receive(message: ArrayBuffer | ToThread): void {
  if (!isSound()) return;
  if (message instanceof ArrayBuffer) {
    const buffer = Buffer.from(message);
    board.consume(messageWeight(buffer.length));
    take(buffer.readUInt32LE(0), buffer, SESSION_PREFIX_BYTES, buffer.length);
    return;
  }
  switch (message.kind) {
    case "open": {
      const { session, callerId, sharesFiles, oneKind, peer, party, ticket } = message;
      const store = sharesFiles ? payloadFiles : undefined;
      const taken = new Float64Array(message.taken);
      const sink = { send: (outgoing: Buffer): boolean => send(session, outgoing) };
      executor.open(session, callerId, store, sink, peer, oneKind, taken, party);
      if (ticket !== undefined) lanes.expect(ticket, session);
      break;
    }
    case "close":
      executor.close(message.session);
      lanes.drop(message.session);
      break;
    case "finish":
      executor.finish(message.session);
      break;
    case "sent":
      executor.sent(message.session, message.bytes);
      break;
    case "stop":
      executor.stop();
      break;
    case "settle":
      void settle();
      break;
    case "cancel":
      executor.cancelAll();
      break;
    case "flush":
      void Promise.allSettled([written(process.stdout), written(process.stderr), lanes.flushed()]).then(() =>
        tell({ kind: "flushed" }),
      );
      break;
    case "catch-up":
      tell({ kind: "caught-up" });
      break;
    case "look":
      executor.runner.look();
      break;
    case "share":
      executor.shares.obey(message);
      break;
    case "credentials":
      proxies.useCredentials(message.credentials);
      break;
    case "ping":
      board.answered = message.ping;
      break;
  }
}

/** Takes a message of a caller. */
function take(session: number, buffer: Buffer, start: number, end: number): void {
  if (isPolling) {
    vain = 0;
    stopIdling(performance.now());
  }
  executor.receive(session, buffer, start, end);
  if (config.spin && end - start <= PULSE_BYTES) poll();
}

/**
 * Keeps the event loop from sleeping for a moment. A caller that waits for each answer sends its next message within
 * that time, and waking a sleeping thread costs a good part of such a call. If other threads need the core, the message
 * comes too late, and polling makes that worse. So each poll without success doubles the number of occasions that are
 * skipped.
 */
function poll(): void {
  if (passes > 0) {
    passes--;
    return;
  }
  pollEnd = performance.now() + SPIN_MS;
  turnsForTask = MOST_TASK_TURNS;
  if (isPolling) return;
  isPolling = true;
  setImmediate(pollOn);
}

function pollOn(): void {
  const { isIdle } = executor;
  const now = performance.now();
  if (isIdle && idleSince === 0) idleSince = now;
  if ((isIdle || turnsForTask-- > 0) && now < pollEnd && isSound()) {
    setImmediate(pollOn);
    return;
  }
  isPolling = false;
  stopIdling(now);
  if (!isIdle) return;
  vain = Math.min(vain * 2 + 1, MOST_PASSES);
  passes = vain;
}

function stopIdling(now: number): void {
  if (idleSince === 0) return;
  executor.polled(now - idleSince);
  idleSince = 0;
}

registerTaskExports();
registerRuntimeExportsLater(registerCallerExports);
containStrayErrors();
markTaskThread();
configureRoot(config.root);
payloadFiles.useDirectory(config.payloadDirectory);
// Keeps the thread alive. Messages wait until everything that tasks need is loaded.
port.ref();
const hasLane = config.laneSocket !== undefined && (await lanes.listen(config.laneSocket));
tell({ kind: "listening", hasLane });
try {
  for (const specifier of config.preload) await preload(specifier);
} catch (error) {
  fail("a module to preload could not be loaded", error);
}
try {
  if (config.authorize !== undefined || config.backpressure !== undefined) {
    executor.askFirst({ authorize: await hookOf(config.authorize), backpressure: await hookOf(config.backpressure) });
  }
} catch (error) {
  fail("the authorize or the backpressure hook could not be loaded", error);
}
try {
  const setup = await hookOf<() => unknown>(config.setup);
  if (setup !== undefined) keepForThread(await setup(), "setup");
} catch (error) {
  fail("setup failed", error);
}
// Everything that modules and setup have replaced so far counts as correct.
guard = new IntrinsicGuard();
tell({ kind: "ready" });
guard.prepare();
port.on("message", receive);
lanes.start();

/** How the thread is set up. It was started before that was known. */
async function configuration(): Promise<ThreadConfiguration> {
  if (parentPort === null) throw new Error("this file runs in a task thread of a worker");
  const [message] = (await once(parentPort, "message")) as [ThreadConfiguration];
  return message;
}

async function hookOf<H>(shipped: ShippedValue | undefined): Promise<H | undefined> {
  return shipped === undefined ? undefined : await receiveValue<H>(shipped);
}

/**
 * Disposes of the resources of this thread. The work that finished tasks have left is over when the event loop is
 * empty.
 */
async function settle(): Promise<void> {
  await disposeThreadValues();
  process.once("beforeExit", () => {
    port.ref();
    tell({ kind: "settled" });
  });
  port.unref();
}

/** Only the first `failed` or `ready` counts. */
function fail(what: string, error: unknown): void {
  tell({ kind: "failed", reason: `${what}: ${stackOf(error)}`, thrown: shipThrown(error) });
}

/**
 * Reports unhandled exceptions and rejections, and goes on: an error of one task does not affect the others. The report
 * names the task if the engine knows it.
 */
function containStrayErrors(): void {
  process.on("uncaughtException", (error) => report("uncaught exception", error));
  process.on("unhandledRejection", (error) => report("unhandled rejection", error));
}

function report(kind: string, error: unknown): void {
  if (!isSound()) return;
  const task = currentTask();
  const where = task === undefined ? "outside of any task" : `in task ${task.name}`;
  const text = stackOf(error);
  process.stderr.write(`${kind} ${where}, and the worker goes on: ${text}\n`);
}
