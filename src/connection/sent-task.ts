import type { Call, EarlyValue, RemoteTask } from "../call/index.ts";
import type { StepKind } from "../wire/index.ts";

/** What a task asks its session to do. */
export interface TaskSession {
  cancel(task: SentTask, reason: unknown): void;
  abortSignal(task: SentTask, number: number, reason: unknown): void;
  step(task: SentTask, kind: StepKind, value: unknown, after: number, encoded: EarlyValue | undefined): void;
  credit(task: SentTask, steps: number): void;
  setWaitedFor(task: SentTask, isWaitedFor: boolean): void;
}

/**
 * A call in a session: its id there, and how much of it has been sent. A session uses each object for many calls, one
 * after the other: the worker's final answer to a call frees it.
 *
 * - `free`: it has no call at present.
 * - `sent`: the worker has not started it.
 * - `started`: the worker has.
 * - `abandoned`: nobody waits for it, and the worker has not sent its final answer.
 */
export class SentTask implements RemoteTask {
  readonly id: number;
  state: "free" | "sent" | "started" | "abandoned" = "free";
  call: Call | undefined;
  /** The name of the last call, also when nobody waits for it any more. */
  name = "";
  /** The task frame itself has been written; before that only chunks of its arguments have. */
  isWritten = false;
  /** The number of the message with the task frame, and of the one with its cancellation, in the session; from 1. */
  message = 0;
  cancelMessage = 0;
  /** Its arguments are going out in chunks. */
  isInTransfer = false;
  /** It counts in the window although its arguments are not out. */
  isCounted = false;
  /** Bytes of its arguments that count in the window. */
  weight = 0;
  /** How many calls it stands for, and how many of them have no final answer yet. */
  size = 1;
  left = 1;
  /** How many calls it counts as in flight. */
  load = 1;
  /** It is a stream whose caller has not asked for more. */
  isResting = false;
  readonly #session: TaskSession;

  constructor(id: number, session: TaskSession) {
    this.id = id;
    this.#session = session;
  }

  /** `free` to `sent`. */
  begin(call: Call): void {
    this.state = "sent";
    this.call = call;
    this.name = call.route.name;
    this.isWritten = false;
    this.isInTransfer = false;
    this.isCounted = false;
    this.isResting = false;
    this.size = call.size;
    this.left = call.size;
    this.load = call.load;
  }

  cancel(reason: unknown): void {
    this.#session.cancel(this, reason);
  }

  abortSignal(number: number, reason: unknown): void {
    this.#session.abortSignal(this, number, reason);
  }

  step(kind: StepKind, value: unknown, after: number, encoded?: EarlyValue): void {
    this.#session.step(this, kind, value, after, encoded);
  }

  credit(steps: number): void {
    this.#session.credit(this, steps);
  }

  setWaitedFor(isWaitedFor: boolean): void {
    this.#session.setWaitedFor(this, isWaitedFor);
  }
}
