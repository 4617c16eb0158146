import type { PeerIdentity } from "../../security/index.ts";
import type { ProcessCredentials } from "./control-pipe.ts";
import type { ShippedValue } from "./hooks.ts";
import type { ShareNotice, ShareOrder } from "./share-messages.ts";
import type { CompleteWorkerLimits } from "./worker-limits.ts";

/** What the gRPC thread tells a task thread, besides the messages of callers. */
export type ToThread =
  /** A caller opened a session. */
  | {
      readonly kind: "open";
      readonly session: number;
      readonly callerId: string;
      readonly sharesFiles: boolean;
      /** The caller wants messages with frames of one kind each. */
      readonly oneKind: boolean;
      readonly peer: PeerIdentity | undefined;
      /** What the caller shows when it connects to its lane; nothing if it has none. */
      readonly ticket: string | undefined;
      /** Where the thread counts the messages that it has begun to read, the hello included. */
      readonly taken: SharedArrayBuffer;
    }
  /** A caller's session is over. */
  | { readonly kind: "close"; readonly session: number }
  /** A caller sends nothing more in its session; report when it has been sent everything that it asked for. */
  | { readonly kind: "finish"; readonly session: number }
  /** Messages of a session have gone out. */
  | { readonly kind: "sent"; readonly session: number; readonly bytes: number }
  /** Take no new tasks; report when none is left. */
  | { readonly kind: "stop" }
  /** After `drained`: dispose of what the thread keeps, and report when nothing is left to do. */
  | { readonly kind: "settle" }
  /** Cancel every task. */
  | { readonly kind: "cancel" }
  /** Report when everything that was printed has reached the gRPC thread. */
  | { readonly kind: "flush" }
  /** Report that everything handed over before this has been taken in. */
  | { readonly kind: "catch-up" }
  /** Another thread made room for a task. */
  | { readonly kind: "look" }
  /** Show this number on the board. */
  | { readonly kind: "ping"; readonly ping: number }
  /** Use these for new connections to other workers. */
  | { readonly kind: "credentials"; readonly credentials: ProcessCredentials }
  | ShareOrder;

/** What a task thread tells the gRPC thread, besides messages to callers. */
export type FromThread =
  /** Callers can connect to its lane, or it has none. */
  | { readonly kind: "listening"; readonly hasLane: boolean }
  /** A message came through a lane, and nobody watches the thread. */
  | { readonly kind: "busy" }
  /** A lane was closed by its caller: its session is over. */
  | { readonly kind: "cut"; readonly session: number; readonly reason: string }
  /** Tasks can be taken. */
  | { readonly kind: "ready" }
  /** The thread cannot take tasks. */
  | { readonly kind: "failed"; readonly reason: string; readonly thrown: ShippedValue | undefined }
  /** The thread cannot be trusted any more, and does nothing until it is ended. */
  | { readonly kind: "spoiled"; readonly reason: string }
  /** After `stop`: no task is left. */
  | { readonly kind: "drained" }
  /** After `settle`: what was kept is disposed of, and no timer, socket or other work of finished tasks is left. */
  | { readonly kind: "settled" }
  /** After `flush`: everything that was printed has arrived. */
  | { readonly kind: "flushed" }
  /** After `finish`: everything that there was to send to the caller has been handed over. */
  | { readonly kind: "finished"; readonly session: number }
  /** After `catch-up`: all that was handed over before it has been taken in. */
  | { readonly kind: "caught-up" }
  /** There is room for tasks that wait in other threads. */
  | { readonly kind: "room" }
  /** A caller sent what the protocol does not allow. */
  | { readonly kind: "malformed"; readonly session: number; readonly reason: string }
  /** A caller took more than it may. */
  | { readonly kind: "exhausted"; readonly session: number; readonly reason: string }
  /** Nothing more should be read from a caller, or again. */
  | { readonly kind: "hold"; readonly session: number; readonly isHeld: boolean }
  | ShareNotice;

/** Bytes in front of a message between the threads: the session's number. */
export const SESSION_PREFIX_BYTES = 4;
/** Messages to callers are reported with `sent` when this many bytes of them have gone out. */
export const SENT_REPORT_BYTES = 64 * 1024;

/** How a task thread is set up. */
export interface ThreadConfig {
  readonly uid: string;
  readonly board: SharedArrayBuffer;
  readonly root: string;
  readonly preload: readonly string[];
  readonly authorize?: ShippedValue;
  readonly backpressure?: ShippedValue;
  readonly setup?: ShippedValue;
  /** What callers may take. */
  readonly limits: CompleteWorkerLimits;
  /** The thread's number. */
  readonly lane: number;
  /** The memory of the worker's `ConcurrencyPermits`; nothing if any number of tasks may run at once. */
  readonly permits: SharedArrayBuffer | undefined;
  /** Where the threads of the worker tell each other how much is unfinished: an integer for each. */
  readonly unfinished: SharedArrayBuffer;
  /** How long an unused proxy to a pool is kept, in milliseconds. */
  readonly proxyPoolTtl: number;
  /** Bytes of shared values that the process keeps. */
  readonly shareBudget: number;
  /** The directory for payload files; the owner of the pool removes it. */
  readonly payloadDirectory: string;
  /** The thread may poll for messages for a moment before it sleeps. */
  readonly spin: boolean;
  /** Where the thread listens for callers on this machine; nothing if all come through the gRPC thread. */
  readonly laneSocket: string | undefined;
  /** Largest message of a caller, in bytes. */
  readonly maxMessageBytes: number;
}

/** What a message takes besides its bytes while it waits: small ones take as much memory as this, or more. */
const MESSAGE_OVERHEAD_BYTES = 1024;

/** How much a message of so many bytes counts for while it waits. */
export function messageWeight(bytes: number): number {
  return bytes + MESSAGE_OVERHEAD_BYTES;
}
