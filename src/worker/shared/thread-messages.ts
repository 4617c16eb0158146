import type { MessagePort } from "node:worker_threads";
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
      /** The same for sessions that are known to be of one caller. */
      readonly party: string;
      /** What the caller shows when it connects to its lane; nothing if it has none. */
      readonly ticket: string | undefined;
      /** Where the thread counts the messages that it has begun to read, including the hello. */
      readonly taken: SharedArrayBuffer;
    }
  /** A caller's session is over. */
  | { readonly kind: "close"; readonly session: number }
  /** A caller sends nothing more in its session; report when everything that it asked for has been sent. */
  | { readonly kind: "finish"; readonly session: number }
  /** Messages of a session have gone out. */
  | { readonly kind: "sent"; readonly session: number; readonly bytes: number }
  /** Take no new tasks; report when none is left. */
  | { readonly kind: "stop" }
  /** After `drained`: dispose of the resources of the thread, and report when nothing is left to do. */
  | { readonly kind: "settle" }
  /** Cancel every task. */
  | { readonly kind: "cancel" }
  /** Report when all output has reached the gRPC thread. */
  | { readonly kind: "flush" }
  /** Report that everything handed over before this has been read. */
  | { readonly kind: "catch-up" }
  /** Another thread made room for a task. */
  | { readonly kind: "look" }
  /** Show this number on the board. */
  | { readonly kind: "ping"; readonly ping: number }
  /** Use these credentials for new connections to other workers. */
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
  /** The thread takes tasks. */
  | { readonly kind: "ready" }
  /** The thread cannot take tasks. */
  | { readonly kind: "failed"; readonly reason: string; readonly thrown: ShippedValue | undefined }
  /** The thread cannot be trusted any more, and does nothing until it is ended. */
  | { readonly kind: "spoiled"; readonly reason: string }
  /** After `stop`: no task is left. */
  | { readonly kind: "drained" }
  /** After `settle`: the resources are disposed of, and no timer, socket or other work of finished tasks is left. */
  | { readonly kind: "settled" }
  /** After `flush`: all output has arrived. */
  | { readonly kind: "flushed" }
  /** After `finish`: everything for the caller has been handed over. */
  | { readonly kind: "finished"; readonly session: number }
  /** After `catch-up`: everything that was handed over before it has been read. */
  | { readonly kind: "caught-up" }
  /** There is room for tasks that wait in other threads. */
  | { readonly kind: "room" }
  /** A caller violated the protocol. */
  | { readonly kind: "malformed"; readonly session: number; readonly reason: string }
  /** A caller exceeded a limit. */
  | { readonly kind: "exhausted"; readonly session: number; readonly reason: string }
  /** Nothing more should be read from a caller, or reading may go on. */
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
  /** Limits on what callers may use. */
  readonly limits: CompleteWorkerLimits;
  /** The thread's number. */
  readonly lane: number;
  /** The memory of the worker's `ConcurrencyPermits`; undefined if any number of tasks may run at once. */
  readonly permits: SharedArrayBuffer | undefined;
  /** Where the threads of the worker tell each other how much is unfinished. */
  readonly unfinished: SharedArrayBuffer;
  /** How long an unused proxy to a pool is kept, in milliseconds. */
  readonly proxyPoolTtl: number;
  /** Bytes of shared values that the process keeps. */
  readonly shareBudget: number;
  /** The directory for payload files; the owner of the pool removes it. */
  readonly payloadDirectory: string;
  /** The thread may poll for messages for a moment before it sleeps. */
  readonly spin: boolean;
  /** Where the thread listens for callers on this machine; undefined if all come through the gRPC thread. */
  readonly laneSocket: string | undefined;
  /** Largest message of a caller, in bytes. */
  readonly maxMessageBytes: number;
}

/** The first message to a task thread, through its parent port. The others go through `port`. */
export interface ThreadConfiguration {
  readonly config: ThreadConfig;
  readonly port: MessagePort;
}

/** What a message counts for besides its bytes while it waits. Small messages take at least this much memory. */
const MESSAGE_OVERHEAD_BYTES = 1024;

/** The weight of a waiting message with this many bytes. */
export function messageWeight(bytes: number): number {
  return bytes + MESSAGE_OVERHEAD_BYTES;
}
