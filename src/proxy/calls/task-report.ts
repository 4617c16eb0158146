import { type Call, type CallEnd, type CallWatcher, taskId } from "../../call/index.ts";
import { TaskTimeout } from "../../errors.ts";
import { processId } from "../../functions/index.ts";
import { emitTaskEvent, type TaskEvent, type TaskEventType, type TaskOutcome } from "../../telemetry/index.ts";

/**
 * Tells those who observe tasks of the stages of one call, each that applies once and in order. Times are those of this
 * process: when it made the call, and when it learnt of the rest.
 */
export class TaskReport implements CallWatcher {
  readonly #task: TaskEvent["task"];
  readonly #created = performance.now();
  #worker: string | undefined;
  #started: number | undefined;
  /** The code is in a step, as far as is known here. */
  #isInside = false;

  constructor({ sequence, route, extras, stream }: Call) {
    this.#task = Object.freeze({
      id: taskId(processId, sequence),
      ...(extras?.caller === undefined ? {} : { caller: extras.caller }),
      name: route.name,
      tag: route.name,
      ...(extras?.key === undefined ? {} : { key: extras.key }),
      kind: stream === undefined ? "call" : "stream",
    });
    this.#emit("task-created");
  }

  started({ recipient }: Call): void {
    if (this.#started !== undefined) return;
    this.#worker = recipient?.uid;
    this.#started = performance.now();
    this.#emit("task-scheduled");
    this.#enter();
  }

  yielded(): void {
    this.#enter();
    this.#leave();
  }

  ended(_call: Call, how: CallEnd, error: unknown): void {
    const ended = performance.now();
    const started = this.#started;
    if (how === "done" && this.#task.kind === "stream") this.#enter();
    this.#leave();
    this.#emit("task-completed", {
      outcome: outcomeOf(how, error),
      ...(how === "done" ? {} : { error }),
      queued: (started ?? ended) - this.#created,
      ran: started === undefined ? 0 : ended - started,
      total: ended - this.#created,
    });
  }

  #enter(): void {
    if (this.#isInside) return;
    this.#isInside = true;
    this.#emit("task-started");
  }

  #leave(): void {
    if (!this.#isInside) return;
    this.#isInside = false;
    this.#emit("task-stopped");
  }

  #emit(type: TaskEventType, more: Partial<TaskEvent> = {}): void {
    const worker = this.#worker;
    emitTaskEvent({ type, task: this.#task, ...(worker === undefined ? {} : { worker }), time: Date.now(), ...more });
  }
}

function outcomeOf(how: CallEnd, error: unknown): TaskOutcome {
  if (how === "done") return "returned";
  if (error instanceof TaskTimeout) return "timed-out";
  return how === "failed" ? "threw" : how;
}
