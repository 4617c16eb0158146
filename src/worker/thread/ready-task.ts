import type { CallCarrier } from "../../routine/index.ts";
import type { Payload } from "../../wire/index.ts";
import type { RunningTask } from "./running-task.ts";

/** The data that a task came with. */
export interface TaskLoad {
  readonly args: Payload;
  /** The pool that it came from. */
  readonly pool: CallCarrier | undefined;
  /** The encoded context. */
  readonly context: Buffer | undefined;
  /** The dependencies that the arguments need, by number. */
  readonly needs: readonly number[];
  /** Longest execution in milliseconds; 0 for no limit. */
  readonly timeout: number;
  /** In a pack: how many bytes of the arguments each of its calls has. */
  readonly items?: readonly number[] | undefined;
}

/** A task that is ready to be started, or waits for its turn. */
export class ReadyTask {
  readonly task: RunningTask;
  readonly pool: CallCarrier | undefined;
  readonly needs: readonly number[];
  readonly timeout: number;
  readonly items: readonly number[] | undefined;
  #args: Payload;
  #context: Buffer | undefined;
  #heldBytes: number | undefined;

  constructor(task: RunningTask, { args, pool, context, needs, timeout, items }: TaskLoad) {
    this.task = task;
    this.#args = args;
    this.pool = pool;
    this.#context = context;
    this.needs = needs;
    this.timeout = timeout;
    this.items = items;
  }

  get args(): Payload {
    return this.#args;
  }

  get context(): Buffer | undefined {
    return this.#context;
  }

  /**
   * The task cannot be run at once. From now on its data counts as waiting, and is copied out of the message. Throws
   * `LimitExceeded` when too much waits.
   */
  hold(): void {
    if (this.#heldBytes !== undefined) return;
    this.#args = this.#args.detached();
    this.#context = this.#context === undefined ? undefined : Buffer.from(this.#context);
    this.#heldBytes = this.#args.memoryBytes + (this.#context?.length ?? 0);
    this.task.wait(this.#heldBytes);
  }

  /** The task is about to be run. */
  release(): void {
    if (this.#heldBytes === undefined) return;
    this.task.waited(this.#heldBytes);
    this.#heldBytes = undefined;
  }
}
