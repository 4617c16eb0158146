import type { DispatchOutcome } from "../balancing/index.ts";
import type { Dependency } from "../functions/index.ts";
import type { Route } from "../routine/index.ts";
import type { Serializer } from "../values/index.ts";
import type { Payload } from "../wire/index.ts";
import type { LiveSignal } from "./live-signals.ts";

/** What a call says beyond its routine and arguments. */
export interface CallExtras {
  /** Longest execution, in milliseconds. */
  readonly timeout?: number | undefined;
  /** Id of the task that makes the call. */
  readonly caller?: string | undefined;
  /** Until when a worker must have accepted it, on the clock of `performance.now`. */
  readonly acceptBy?: number | undefined;
  /** The encoded context. */
  readonly context?: Uint8Array | undefined;
  /** Dependencies of the arguments and the context. */
  readonly dependencies?: readonly Dependency[] | undefined;
  readonly prefetch?: number | undefined;
  readonly serializer?: Serializer | undefined;
  readonly idempotent?: boolean | undefined;
  readonly key?: string | undefined;
}

/** A pool as tasks know it, so that what they call goes back to it. */
export interface Scope {
  readonly number: number;
  /** The encoded description of how to reach the pool. */
  readonly pool: Uint8Array;
}

/** Takes what a worker says of a call that is not an answer to it. */
export interface CallOwner {
  /** The worker did not run the call and will not. */
  rejected(call: Call, error: Error): void;
  /** The worker did not run the call and will not, but could have as well: it may be handed to it again. */
  returned(call: Call, error: Error): void;
  /** The worker has not the code of a call; this one in its place brings it along. */
  remade(call: Call, worker: string): void;
  /** The worker is gone; the call may or may not have been run. */
  lost(call: Call, error: Error): void;
}

/** Follows a call from worker to worker. */
export interface AttemptListener {
  /** The call was handed to a worker. */
  handed(uid: string): void;
  /** That is over, or the call is. May be told more than once of the same end; the first counts. */
  ended(status: DispatchOutcome["status"]): void;
}

/** A place other than the queue where calls wait that have been handed to no connection. */
export interface WaitingPlace {
  /** Lets go of a call that waits there. */
  withdraw(call: Call): void;
}

/** Counts what became of calls. */
export interface Tally {
  done: number;
  failed: number;
}

/** A connection to a worker as the calls know it that were handed to it. */
export interface CallSession {
  /** Tells the worker that nobody waits for a call any more. */
  cancel(call: Call, reason: unknown): void;
  /** A signal among the arguments of a call was aborted. */
  abort(call: Call, number: number, reason: unknown): void;
}

/** Takes the steps of a generator. */
export interface StreamSink {
  /** The call was handed to a session: steps can be sent. Once more for a call that was made anew. */
  opened(session: CallSession, call: Call): void;
  /** The generator yielded. `control`: in answer to a throw or a return. */
  yielded(value: unknown, control: boolean): void;
  /** The caller no longer waits: nothing that it has not asked for counts any more. */
  cancelled(): void;
}

/**
 * Where a call stands. `waiting`: handed to no connection. `sent`: handed to one. `running`: the worker has started it.
 * `abandoned`: the caller no longer waits, the worker has not said its last word. `lost`: with its worker. `ended`: over.
 */
export type CallState = "waiting" | "sent" | "running" | "abandoned" | "lost" | "ended";

let lastSequence = 0;

/** The name of a task in the whole system. */
export function taskId(caller: string, sequence: number): string {
  return `${caller}-${sequence.toString(36)}`;
}

/** One call of a routine, from the moment it is made to its end. */
export class Call {
  readonly route: Route;
  readonly owner: CallOwner;
  readonly scope: Scope | undefined;
  readonly extras: CallExtras | undefined;
  /** Names the call in this process. */
  readonly sequence: number = ++lastSequence;
  /** The encoded arguments. */
  args: Payload;
  state: CallState = "waiting";
  session: CallSession | undefined;
  /** Uid of the worker that it was last handed to. */
  worker = "";
  /** Where it waits; nothing for the queue. */
  place: WaitingPlace | undefined;
  /** Wants to know of its attempts. */
  attempts: AttemptListener | undefined;
  /** Counts for that worker. */
  tally: Tally | undefined;
  /** The id within the session; -1 outside of one. */
  id = -1;
  /** The task frame itself has been written; before that only chunks of its arguments have. */
  written = false;
  /** Its arguments are going out in chunks. */
  inTransfer = false;
  /** It has its place in the window although its arguments are not out. */
  counted = false;
  stream: StreamSink | undefined;
  /** It is a stream in flight, and its caller has not asked for more. */
  isResting = false;
  /** Signals among the arguments, by their numbers. */
  signals: readonly LiveSignal[] | undefined;
  /** What workers that refused it said, by the worker's uid. */
  refusals: Map<string, Error> | undefined;
  /** Called once with what the routine returned. */
  resolve: (value: unknown) => void = ignore;
  /** Called once with a `RemoteFailure`. */
  reject: (failure: unknown) => void = ignore;
  /** How a worker was lost with it, when it is being tried once more. */
  lostBefore: Error | undefined;
  /** It was made anew after a worker had not its code. */
  remade = false;
  /** Makes the call anew for a worker that does not have the modules of these hashes, for the reason that it told. */
  remake: ((unavailable: readonly string[], why: string) => Call | undefined) | undefined;
  /** Called when the call has been handed to a connection. */
  onHanded: (() => void) | undefined;
  /** Called when the worker has started the call or answered it. */
  onStarted: (() => void) | undefined;

  /**
   * Lets go of what waits for it, once that has been told. A call often gets into the old part of the heap, and what it
   * refers to would stay there with it until that is cleaned up: results of any size.
   */
  release(): void {
    this.resolve = ignore;
    this.reject = ignore;
    this.remake = undefined;
  }

  constructor(route: Route, owner: CallOwner, scope: Scope | undefined, extras: CallExtras | undefined, args: Payload) {
    this.route = route;
    this.owner = owner;
    this.scope = scope;
    this.extras = extras;
    this.args = args;
  }
}

function ignore(): void {}
