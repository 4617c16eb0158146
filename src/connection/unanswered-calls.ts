import type { Call } from "../call/index.ts";
import type { WorkerLost } from "../errors.ts";
import type { SentTask } from "./sent-task.ts";

/**
 * How often a call may come back because a thread ended before it read the call. After that, its worker counts as one
 * that refuses it.
 */
const MOST_RETURNS = 3;

/** What a worker reports about a task thread that ended. */
export interface LostThread {
  readonly error: WorkerLost;
  /** How many messages of the session it has begun to read, including the hello; Infinity if that is not known. */
  readonly taken: number;
}

/**
 * What is known of calls without an answer when their session ends. `lost`: they may have run. `rejected`: they have not. If a
 * thread ended, it depends on the message in which a call was sent.
 */
export type Unanswered = "lost" | "rejected" | LostThread;

/** Tells the owners of the calls that a session had when it ended. */
export function endUnanswered(
  tasks: readonly { readonly task: SentTask; readonly call: Call }[],
  error: Error,
  unanswered: Unanswered,
): void {
  for (const { call } of tasks) call.leave();
  for (const { task, call } of tasks) {
    if (call.state !== "settling") continue;
    if (typeof unanswered === "string") call.owner?.[unanswered](call, error);
    else if (task.isWritten && task.message <= unanswered.taken) call.owner?.lost(call, error);
    else if (++call.returns <= MOST_RETURNS) call.owner?.returned(call, error);
    else call.owner?.rejected(call, error);
  }
}
