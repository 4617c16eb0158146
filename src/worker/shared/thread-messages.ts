import type { PeerIdentity } from "../../security/index.ts";
import type { ProcessCredentials } from "./process-config.ts";
import type { ShippedHook } from "./shipped-hook.ts";

/** What the gRPC thread tells a task thread, besides the messages of callers. */
export type ToThread =
  /** A caller opened a session. */
  | {
      readonly kind: "open";
      readonly session: number;
      readonly callerId: string;
      readonly sharesFiles: boolean;
      readonly peer: PeerIdentity | undefined;
    }
  /** A caller's session is over. */
  | { readonly kind: "close"; readonly session: number }
  /** A caller sends nothing more in its session; report when what it sent is dealt with. */
  | { readonly kind: "finish"; readonly session: number }
  /** Large messages of a session have gone out. */
  | { readonly kind: "sent"; readonly session: number; readonly bytes: number }
  /** Take no new tasks; report when none is left. */
  | { readonly kind: "stop" }
  /** Cancel every task. */
  | { readonly kind: "cancel" }
  /** Report when everything that was printed has reached the gRPC thread. */
  | { readonly kind: "flush" }
  /** Another thread made room for a task. */
  | { readonly kind: "look" }
  /** Show this number on the board. */
  | { readonly kind: "ping"; readonly ping: number }
  /** Use these for new connections to other workers. */
  | { readonly kind: "credentials"; readonly credentials: ProcessCredentials };

/** What a task thread tells the gRPC thread, besides messages to callers. */
export type FromThread =
  /** Tasks can be taken. */
  | { readonly kind: "ready" }
  /** The thread cannot take tasks. */
  | { readonly kind: "failed"; readonly reason: string }
  /** After `stop`: no task is left. */
  | { readonly kind: "drained" }
  /** After `flush`: everything that was printed has arrived. */
  | { readonly kind: "flushed" }
  /** After `finish`: everything that there was to send to the caller has been handed over. */
  | { readonly kind: "finished"; readonly session: number }
  /** There is room for tasks that wait in other threads. */
  | { readonly kind: "room" }
  /** A caller sent what the protocol does not allow. */
  | { readonly kind: "malformed"; readonly session: number; readonly reason: string };

/** Bytes in front of a message between the threads: the session's number. */
export const SESSION_PREFIX_BYTES = 4;
/** Bytes that gRPC puts in front of a message. */
export const GRPC_PREFIX_BYTES = 5;
/** Messages to callers above this size are reported with `sent` when they have gone out. */
export const LARGE_MESSAGE_BYTES = 16 * 1024;

/** How a task thread is set up. */
export interface ThreadConfig {
  readonly uid: string;
  readonly board: SharedArrayBuffer;
  readonly root: string;
  readonly preload: readonly string[];
  readonly authorize?: ShippedHook;
  readonly backpressure?: ShippedHook;
  /** The thread's number. */
  readonly lane: number;
  /** The memory of the worker's `TaskSlots`; nothing if any number of tasks may run at once. */
  readonly slots: SharedArrayBuffer | undefined;
  /** How long an unused proxy to a pool is kept, in milliseconds. */
  readonly proxyPoolTtl: number;
  /** Where payload files go; the owner of the pool removes it. */
  readonly payloadDirectory: string;
  /** The thread may look for messages actively for a moment before it sleeps. */
  readonly spin: boolean;
}
