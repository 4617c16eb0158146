import { taskId } from "../../call/index.ts";
import { TaskCancelled } from "../../errors.ts";
import { processId } from "../../functions/index.ts";
import type { TaskRecord } from "../../routine/index.ts";
import { TaskStages } from "../../telemetry/index.ts";
import type { Timer } from "../../time/index.ts";
import { NO_COLLECTIONS } from "../../values/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { EarlySteps, GeneratorRun, RemoteRoutine } from "./routines/index.ts";

/**
 * Where a task stands. `parked`: not started, since no more may run at once. `running`. `waiting`: for a call that it
 * made itself. `resting`: a generator that nobody has asked for more. `due`: one that was, and waits until it may run.
 * `ended`. Only a `running` task holds a permit.
 */
export type TaskState = "parked" | "running" | "waiting" | "resting" | "due" | "ended";

/** A signal among the arguments of a task that its caller aborted, by its number. */
export interface AbortedSignal {
  readonly number: number;
  /** Reads why. What is read may hold code, so it is not before the task has been let in. */
  readonly reason: () => unknown;
}

/** A task on its worker, from its arrival to its end. */
export class RunningTask implements TaskRecord {
  readonly session: ExecutorSession;
  readonly routine: RemoteRoutine;
  readonly worker: string;
  /** The id within its session; -1 once the session is done with it. */
  wireId: number;
  readonly sequence: number;
  readonly caller: string | undefined;
  readonly deadline: number | undefined;
  readonly key: string | undefined;
  state: TaskState = "parked";
  /** Calls that the task has made and that have not ended. */
  nested = 0;
  exception: unknown;
  /** Tells those who observe tasks in this thread; nothing while nobody does. */
  stages: TaskStages | undefined;
  /** The weak collections that its routine captured or that are among its arguments. */
  weak = NO_COLLECTIONS;
  /** Ends the task's time. */
  timer: Timer | undefined;
  /** Set for generators once their arguments have been read. */
  run: GeneratorRun | undefined;
  /** Steps that arrived before the generator was made. */
  early: EarlySteps | undefined;
  /** What aborts the signals among its arguments, once those have been read, and what was aborted before. */
  #signals: ReadonlyMap<number, AbortController> | undefined;
  #abortedEarly: AbortedSignal[] | undefined;
  /** Bytes of what it came with, or was sent since, that it has not used, and the most that was of one piece among them. */
  #waiting = 0;
  #largestWaiting = 0;
  #controller: AbortController | undefined;
  #aborted: { readonly reason: unknown } | undefined;

  constructor(
    session: ExecutorSession,
    routine: RemoteRoutine,
    worker: string,
    wireId: number,
    sequence: number,
    caller: string | undefined,
    timeout: number,
    key?: string,
  ) {
    this.session = session;
    this.routine = routine;
    this.worker = worker;
    this.wireId = wireId;
    this.sequence = sequence;
    this.caller = caller;
    this.key = key;
    this.deadline = timeout > 0 ? Date.now() + timeout : undefined;
  }

  /** Something of it, or for it, has to wait. Throws `LimitExceeded` when too much does. */
  wait(bytes: number): void {
    this.#waiting += bytes;
    this.#largestWaiting = Math.max(this.#largestWaiting, bytes);
    this.session.addWaiting(bytes);
  }

  /** That is over. */
  waited(bytes: number): void {
    const left = Math.min(bytes, this.#waiting);
    this.#waiting -= left;
    if (this.#waiting === 0) this.#largestWaiting = 0;
    this.session.dropWaiting(left);
  }

  /** How much the names take that came with it. */
  get nameBytes(): number {
    return (this.caller?.length ?? 0) + (this.key?.length ?? 0);
  }

  /** Bytes of the largest of what waits, or has waited since something did. */
  get largestWaiting(): number {
    return this.#largestWaiting;
  }

  get id(): string {
    return taskId(this.session.callerId, this.sequence);
  }

  get name(): string {
    return this.routine.name;
  }

  get tag(): string {
    return `${this.name}@${this.worker}`;
  }

  /** Has those who observe tasks in this thread told of it. They hear of the calls of this thread where those are made. */
  observe(): void {
    const { session, routine, id, name, caller, key } = this;
    if (session.callerId === processId) return;
    this.stages = new TaskStages({
      id,
      ...(caller === undefined ? {} : { caller }),
      name,
      tag: name,
      ...(key === undefined ? {} : { key }),
      kind: routine.streams ? "stream" : "call",
    });
  }

  /** Made when someone asks for it: most tasks never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted.reason);
    }
    return this.#controller.signal;
  }

  /** The arguments have been read; these abort the signals among them. */
  connectSignals(signals: ReadonlyMap<number, AbortController>): void {
    this.#signals = signals;
    for (const aborted of this.#takeEarlyAborts()) this.abortSignal(aborted);
  }

  /** A signal among the arguments was aborted by the caller. Throws `LimitExceeded` when too much comes too early. */
  abortSignal(aborted: AbortedSignal): void {
    if (this.#signals !== undefined) this.#signals.get(aborted.number)?.abort(aborted.reason());
    else {
      this.session.addEarlyFrame();
      this.#abortedEarly ??= [];
      this.#abortedEarly.push(aborted);
    }
  }

  /** The generator is there, or never will be: the steps that arrived before, once. */
  takeEarlySteps(): EarlySteps | undefined {
    const { early } = this;
    this.early = undefined;
    if (early !== undefined) this.session.dropEarlyFrames(early.size);
    return early;
  }

  /** It ends, and what came too early for it is of no use. */
  dropEarly(): void {
    this.takeEarlySteps();
    this.#takeEarlyAborts();
    if (this.#waiting > 0) this.waited(this.#waiting);
  }

  #takeEarlyAborts(): readonly AbortedSignal[] {
    const aborted = this.#abortedEarly ?? [];
    this.#abortedEarly = undefined;
    this.session.dropEarlyFrames(aborted.length);
    return aborted;
  }

  /** Tells the task that nobody waits for it. */
  abort(reason: unknown): void {
    if (this.#aborted !== undefined) return;
    const given = reason ?? new TaskCancelled(`${this.name} was cancelled`);
    this.#aborted = { reason: given };
    this.#controller?.abort(given);
  }
}
