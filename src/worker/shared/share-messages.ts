import type { SharedPayload } from "../../values/index.ts";

/** A shared value in the memory of a process. */
export interface KeptShare {
  readonly payload: SharedPayload;
  /** The file that it was read from, if there is one. */
  readonly file: string | undefined;
  /** The time of its last use, in milliseconds since the epoch: one float64. */
  readonly use: SharedArrayBuffer;
}

/** What the gRPC thread, which knows of all shared values of the process, tells a task thread. */
export type ShareOrder =
  /** Get it from a caller, and report `have` or `failed`. */
  | { readonly kind: "share"; readonly order: "fetch"; readonly hash: string }
  /** Take it from this memory: another thread has it. */
  | { readonly kind: "share"; readonly order: "take"; readonly hash: string; readonly kept: KeptShare }
  /** It is not kept any more. */
  | { readonly kind: "share"; readonly order: "drop"; readonly hash: string };

/** What a task thread tells the gRPC thread. */
export type ShareNotice =
  /** Memory in which the thread shows when it was last not blocked by a task: one float64. Sent before the first `want`. */
  | { readonly kind: "share"; readonly notice: "pulse"; readonly pulse: SharedArrayBuffer }
  /** A task needs it. */
  | { readonly kind: "share"; readonly notice: "want"; readonly hash: string; readonly bytes: number }
  /** The value has come. */
  | { readonly kind: "share"; readonly notice: "have"; readonly hash: string; readonly kept: KeptShare }
  /** No caller of this thread has it. */
  | { readonly kind: "share"; readonly notice: "failed"; readonly hash: string }
  /** Its owner has dropped it. */
  | { readonly kind: "share"; readonly notice: "dropped"; readonly hash: string };
