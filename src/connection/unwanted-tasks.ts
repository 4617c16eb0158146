import { Timer } from "../time/index.ts";
import { BatchWriter, writeUnwanted } from "../wire/index.ts";
import type { SentTask } from "./sent-task.ts";

/**
 * How long a task thread has to answer a cancellation before the caller tells the gRPC thread of the worker, in
 * milliseconds.
 */
const ANSWER_MS = 250;
/** Most tasks in one message. */
const MOST_IN_MESSAGE = 10_000;

interface UnwantedTask {
  readonly task: SentTask;
  readonly message: number;
}

/**
 * The tasks of a session with a lane that were cancelled and have not ended. A task that blocks its thread keeps it
 * from reading the cancellation, so the gRPC thread is told too. Almost all tasks end before that.
 */
export class UnwantedTasks {
  readonly #headroom: number;
  readonly #send: (message: Buffer) => void;
  #tasks: UnwantedTask[] = [];
  #timer: Timer | undefined;

  constructor(headroom: number, send: (message: Buffer) => void) {
    this.#headroom = headroom;
    this.#send = send;
  }

  /** The cancellation of a task was written. */
  add(task: SentTask): void {
    this.#tasks.push({ task, message: task.cancelMessage });
    this.#timer ??= new Timer(ANSWER_MS, () => this.#tell()).unref();
  }

  close(): void {
    this.#timer?.clear();
    this.#tasks = [];
  }

  #tell(): void {
    this.#timer = undefined;
    const tasks = this.#tasks.filter(
      ({ task, message }) => task.state === "abandoned" && task.cancelMessage === message,
    );
    this.#tasks = [];
    for (let start = 0; start < tasks.length; start += MOST_IN_MESSAGE) {
      const writer = new BatchWriter(this.#headroom);
      for (const { task, message } of tasks.slice(start, start + MOST_IN_MESSAGE))
        writeUnwanted(writer, task.id, message);
      this.#send(writer.take());
    }
  }
}
