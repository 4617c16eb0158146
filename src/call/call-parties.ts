import type { Dependency } from "../functions/index.ts";
import type { Serializer } from "../values/index.ts";
import type { Call } from "./call.ts";

/** The parts of a call besides its routine and arguments. */
export interface CallExtras {
  /** Longest execution, in milliseconds. */
  readonly timeout?: number | undefined;
  /** Id of the task that makes the call. */
  readonly caller?: string | undefined;
  /** When a worker must have accepted it, on the clock of `performance.now`. */
  readonly acceptBy?: number | undefined;
  /** The encoded context. */
  readonly context?: Uint8Array | undefined;
  /** Dependencies of the arguments and the context. */
  readonly dependencies?: readonly Dependency[] | undefined;
  readonly prefetch?: number | undefined;
  readonly serializer?: Serializer | undefined;
  readonly idempotent?: boolean | undefined;
  readonly key?: string | undefined;
  /** Only data is accepted as its outcome. */
  readonly dataOnly?: boolean | undefined;
  /** Tags that its worker must have. Never empty. */
  readonly needs?: readonly string[] | undefined;
}

/** A pool as tasks know it, so that their calls go to its members and no others. */
export interface PoolReference {
  /** Names the pool in every session of this process. */
  readonly number: number;
  /** Differs after each change. */
  readonly version: number;
  /** The pool's balancer, encoded; undefined for the default one. */
  readonly balancer: { readonly bytes: Uint8Array; readonly dependencies: readonly Dependency[] } | undefined;
  /** The changes since a version, encoded, or everything for version 0. Undefined: nothing changed. */
  describe(since: number): Uint8Array | undefined;
}

/** Keeps a call while it waits for a worker, and decides what to do when a worker does not run it. */
export interface CallOwner {
  /** Nobody waits for the call any more. The owner drops it. */
  withdraw(call: Call): void;
  /** The worker did not run the call and will not. */
  rejected(call: Call, error: Error): void;
  /** The worker did not run the call and will not, but it could: the call may go to the same worker again. */
  returned(call: Call, error: Error): void;
  /** The worker did not have the code of the call, so the call was remade with its code. */
  remade(call: Call): void;
  /** The worker is lost; it may or may not have run the call. */
  lost(call: Call, error: Error): void;
}

/** A worker that calls are handed to. */
export interface Recipient {
  readonly uid: string;
  readonly tally: Tally;
}

/** Counts the calls of a worker. */
export interface Tally {
  /** Calls that it has and that a caller waits for. */
  inFlight: number;
  /** Calls that returned. */
  done: number;
  /** Calls that threw or were lost. */
  failed: number;
  /** Shared values that were sent to it; undefined before the first. */
  shared?: SharedTally;
}

/** Counts shared values. */
export interface SharedTally {
  values: number;
  /** Their encoded size in bytes. */
  bytes: number;
}

/** How a call ended. */
export type CallEnd = "done" | "failed" | "lost" | "cancelled";

/** Observes a call through its states. */
export interface CallWatcher {
  /** The call was handed to a worker. */
  sent?(call: Call): void;
  /** The worker has started the call. */
  started?(call: Call): void;
  /** The worker did not run the call, or was lost with it, and the call waits for another try. */
  requeued?(call: Call, why: "rejected" | "lost"): void;
  /** The call is over. Its caller is told right after this. */
  ended?(call: Call, how: CallEnd, error: unknown): void;
  /** The generator was asked for a step, after the first one, and has nothing else to do. */
  asked?(call: Call): void;
  /** The generator yielded. */
  yielded?(call: Call): void;
}

/** Receives the steps of a generator. */
export interface StreamSink {
  /** The call was handed to a worker: steps can be sent. Called again after a worker returned the call. */
  opened(): void;
  /** The generator yielded. `control`: in answer to a throw or a return. Returns false when nobody asked for the value. */
  yielded(value: unknown, control: boolean): boolean;
  /** The caller does not wait any more: values that it has not asked for are dropped. */
  cancelled(): void;
}
