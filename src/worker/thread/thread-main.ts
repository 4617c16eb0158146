/** What runs in a task thread: the executor, and the ports to the gRPC thread. */
import { type MessagePort, receiveMessageOnPort, workerData } from "node:worker_threads";
import { configureRoot } from "../../functions/index.ts";
import "../../index.ts";
import { payloadFiles } from "../../host/index.ts";
import { markTaskThread } from "../../routine/index.ts";
import {
  type FromThread,
  LARGE_MESSAGE_BYTES,
  preload,
  receiveHook,
  SESSION_PREFIX_BYTES,
  type ShippedHook,
  TaskSlots,
  ThreadBoard,
  type ThreadConfig,
  type ToThread,
  written,
} from "../shared/index.ts";
import { Executor } from "./executor.ts";
import { ProxyCache } from "./proxy-cache.ts";
import { containStrayErrors } from "./stray-errors.ts";

/** How long a thread looks for the next message before it sleeps, in milliseconds. */
const SPIN_MS = 0.25;
/** Most occasions to look for a message that are let pass after looking in vain. */
const MOST_PASSES = 255;
/** Messages up to this size are taken for the pulse of a caller that waits for each answer. */
const PULSE_BYTES = 96;
/** How often a session that its caller sends nothing more in looks whether it is finished, in milliseconds. */
const FINISH_LOOK_MS = 5;
/** Bytes of large messages that may be on their way out of a session. */
const OUTGOING_LIMIT_BYTES = 512 * 1024;

const { config, port } = workerData as { config: ThreadConfig; port: MessagePort };
const board = new ThreadBoard(config.board);
const unsent = new Map<number, number>();
let received = 0;
/** Occasions to look for a message that are let pass, and how many were after the last time in vain. */
let passes = 0;
let vain = 0;

const proxies = new ProxyCache(config.proxyPoolTtl);
const executor = new Executor({
  uid: config.uid,
  board,
  slots:
    config.slots === undefined
      ? undefined
      : { slots: new TaskSlots(config.slots), lane: config.lane, announce: () => tell({ kind: "room" }) },
  carrierFor: (pool) => proxies.carrier(pool),
  malformed: (session, reason) => tell({ kind: "malformed", session, reason }),
  drained: () => tell({ kind: "drained" }),
});

function tell(message: FromThread): void {
  port.postMessage(message);
}

/** Transfers a message: exactly its own bytes, since a part of a larger buffer would be copied whole. */
function send(session: number, message: Buffer): boolean {
  const memory = new ArrayBuffer(message.length);
  const copy = Buffer.from(memory);
  message.copy(copy);
  copy.writeUInt32LE(session, 0);
  port.postMessage(memory, [memory]);
  if (message.length <= LARGE_MESSAGE_BYTES) return true;
  const outgoing = (unsent.get(session) ?? 0) + message.length;
  unsent.set(session, outgoing);
  return outgoing < OUTGOING_LIMIT_BYTES;
}

function receive(message: ArrayBuffer | ToThread): void {
  received++;
  if (message instanceof ArrayBuffer) {
    const buffer = Buffer.from(message);
    board.consume(buffer.length);
    executor.receive(buffer.readUInt32LE(0), buffer, SESSION_PREFIX_BYTES, buffer.length);
    if (config.spin && buffer.length <= PULSE_BYTES) setImmediate(spin);
    return;
  }
  switch (message.kind) {
    case "open": {
      const { session, callerId, sharesFiles, peer } = message;
      const store = sharesFiles ? payloadFiles : undefined;
      executor.open(session, callerId, store, { send: (outgoing) => send(session, outgoing) }, peer);
      break;
    }
    case "close":
      executor.close(message.session);
      unsent.delete(message.session);
      break;
    case "finish":
      finish(message.session);
      break;
    case "sent": {
      const outgoing = (unsent.get(message.session) ?? 0) - message.bytes;
      unsent.set(message.session, outgoing);
      if (outgoing < OUTGOING_LIMIT_BYTES) executor.drained(message.session);
      break;
    }
    case "stop":
      executor.stop();
      break;
    case "cancel":
      executor.cancelAll();
      break;
    case "flush":
      void Promise.allSettled([written(process.stdout), written(process.stderr)]).then(() => tell({ kind: "flushed" }));
      break;
    case "look":
      executor.runner.look();
      break;
    case "credentials":
      proxies.useCredentials(message.credentials);
      break;
    case "ping":
      board.answered = message.ping;
      break;
  }
}

/** Rare enough, and over soon enough, to look for it now and then. */
function finish(session: number): void {
  if (executor.isFinished(session)) tell({ kind: "finished", session });
  else setTimeout(finish, FINISH_LOOK_MS, session);
}

/**
 * Looks for the next message for a moment. A caller that waits for each answer sends the next one within that time, and
 * waking a sleeping thread costs a good part of such a call. Where the core is needed by others the message comes too
 * late, and looking only makes it worse: each time in vain doubles the number of occasions that are let pass.
 */
function spin(): void {
  if (passes > 0) {
    passes--;
    return;
  }
  if (!executor.isIdle) return;
  const end = performance.now() + SPIN_MS;
  do {
    if (board.rings === received) continue;
    const next = receiveMessageOnPort(port);
    if (next !== undefined) {
      vain = 0;
      receive(next.message as ArrayBuffer | ToThread);
      return;
    }
  } while (performance.now() < end);
  vain = Math.min(vain * 2 + 1, MOST_PASSES);
  passes = vain;
}

containStrayErrors();
markTaskThread();
configureRoot(config.root);
payloadFiles.useDirectory(config.payloadDirectory);
// Keeps the thread alive. What it is handed waits until all is there that tasks count on.
port.ref();
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
tell({ kind: "ready" });
port.on("message", receive);

async function hookOf<H>(shipped: ShippedHook | undefined): Promise<H | undefined> {
  return shipped === undefined ? undefined : await receiveHook<H>(shipped);
}

/** Only the first thing that is told counts. */
function fail(what: string, error: unknown): void {
  const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
  tell({ kind: "failed", reason: `${what}: ${reason}` });
}
