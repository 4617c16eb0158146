import { taskId } from "../connection/caller-id.ts";
import { TaskCancelled } from "../errors.ts";
import type { Task } from "../routine/task.ts";

/** A task on its worker, from its start to its end. */
export class RunningTask implements Task {
  readonly name: string;
  readonly caller: string | undefined;
  readonly worker: string;
  readonly deadline: number | undefined;
  /** The id within its session; -1 once the session is done with it. */
  wireId: number;
  /** Whether the caller knows that it was started. */
  accepted = false;
  exception: unknown;
  readonly #callerId: string;
  readonly #sequence: number;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;
  /** Ends the task's time. */
  timer: NodeJS.Timeout | undefined;
  /** Calls that the task has made and that have not ended. */
  nested = 0;

  constructor(
    name: string,
    worker: string,
    callerId: string,
    sequence: number,
    caller: string | undefined,
    wireId: number,
    timeout: number,
  ) {
    this.name = name;
    this.worker = worker;
    this.#callerId = callerId;
    this.#sequence = sequence;
    this.caller = caller;
    this.wireId = wireId;
    this.deadline = timeout > 0 ? Date.now() + timeout : undefined;
  }

  get id(): string {
    return taskId(this.#callerId, this.#sequence);
  }

  get tag(): string {
    return `${this.name}@${this.worker}`;
  }

  /** Made when someone asks for it: most tasks never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Tells the task that nobody waits for it. */
  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return;
    const given = reason ?? new TaskCancelled(`${this.name} was cancelled`);
    this.#aborted = { reason: given };
    this.#controller?.abort(given);
  }
}
