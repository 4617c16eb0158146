import { inspect } from "node:util";
import { StatusCode } from "../../grpc/index.ts";
import type { BackpressureLike } from "../shared/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { ReadyTask, TaskRunner } from "./task-runner.ts";

/** What an admission needs of its executor. */
export interface AdmissionOwner {
  readonly runner: Pick<TaskRunner, "live" | "waiting" | "take">;
  /** Tells the caller of a task that it is not taken. */
  refuse(session: ExecutorSession, id: number, status: number, message: string): void;
}

/** Has a backpressure hook decide which tasks are taken. What goes wrong in the hook is a fault of the worker. */
export class TaskAdmission {
  readonly #hook: BackpressureLike;
  readonly #owner: AdmissionOwner;
  /** Tasks about which the hook has not made up its mind. */
  readonly #asked = new Set<ReadyTask>();

  constructor(hook: BackpressureLike, owner: AdmissionOwner) {
    this.#hook = hook;
    this.#owner = owner;
  }

  /** Takes a task or refuses it, now or when the hook has made up its mind. */
  ask(ready: ReadyTask): void {
    const { id, name, caller } = ready.task;
    const { runner } = this.#owner;
    try {
      const context = { task: { id, name, caller }, running: runner.live, waiting: runner.waiting };
      const answer: unknown = this.#hook(context);
      if (answer instanceof Promise) {
        this.#asked.add(ready);
        answer.then(
          (refuses) => {
            if (this.#asked.delete(ready)) this.#answered(ready, refuses);
          },
          (error: unknown) => {
            if (this.#asked.delete(ready)) this.#failed(ready, error);
          },
        );
      } else this.#answered(ready, answer);
    } catch (error) {
      this.#failed(ready, error);
    }
  }

  /** The worker stops: what the hook still thinks about was not run and will not be. */
  stop(): void {
    for (const ready of this.#asked) this.#refuse(ready, StatusCode.UNAVAILABLE, "the worker is stopping");
    this.#asked.clear();
  }

  /** The task may have been cancelled since the hook was asked. */
  #answered(ready: ReadyTask, refuses: unknown): void {
    if (refuses === true) {
      this.#refuse(ready, StatusCode.RESOURCE_EXHAUSTED, "its backpressure hook refused the task");
    } else if (refuses !== false) {
      this.#failed(ready, new TypeError(`it returned ${inspect(refuses)}, not true or false`));
    } else if (ready.task.state === "ended") ready.args.drop();
    else this.#owner.runner.take(ready);
  }

  #failed(ready: ReadyTask, error: unknown): void {
    const reason = error instanceof Error ? error.message : String(error);
    this.#refuse(ready, StatusCode.INTERNAL, `its backpressure hook failed: ${reason}`);
  }

  #refuse(ready: ReadyTask, status: number, message: string): void {
    const { task } = ready;
    // One that was cancelled meanwhile has been answered.
    if (task.state === "ended") return ready.args.drop();
    const { session, wireId } = task;
    session.tasks.delete(wireId);
    task.wireId = -1;
    task.state = "ended";
    this.#owner.refuse(session, wireId, status, message);
  }
}
