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
 * The state of a task. `parked`: not started, because no more tasks may run at once. `running`: its code may run.
 * `waiting`: for a call that it made itself. `resting`: a generator without a request for more. `due`: a generator with
 * a request that waits until it may run. `ended`: done. Only a `running` task holds a permit.
 */
export type TaskState = "parked" | "running" | "waiting" | "resting" | "due" | "ended";

/** A signal among the arguments of a task that its caller aborted, by its number. */
export interface AbortedSignal {
  readonly number: number;
  /** Reads the reason. It may contain code, so it is not read before the task has been admitted. */
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
  /** It is a generator that nobody has asked for more. */
  isResting = false;
  /** Calls that the task has made and that have not ended. */
  nested = 0;
  exception: unknown;
  /** Tells observers of tasks in this thread; undefined while there are none. */
  stages: TaskStages | undefined;
  /** The weak collections that its routine captured, or that are among its arguments. */
  weak = NO_COLLECTIONS;
  /** The timer of its timeout. */
  timer: Timer | undefined;
  /** Set for generators once their arguments have been read. */
  run: GeneratorRun | undefined;
  /** Steps that arrived before the generator was made. */
  early: EarlySteps | undefined;
  /**
   * Controllers for the signals among its arguments, once those have been read. Before that: the signals that were
   * aborted early.
   */
  #signals: ReadonlyMap<number, AbortController> | undefined;
  #abortedEarly: AbortedSignal[] | undefined;
  /** Bytes that came for it and are not used yet, and the size of the largest piece of them. */
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

  /** Counts bytes that have to wait. Throws `LimitExceeded` when too much waits. */
  wait(bytes: number): void {
    this.#waiting += bytes;
    this.#largestWaiting = Math.max(this.#largestWaiting, bytes);
    this.session.addWaiting(bytes);
  }

  /** These bytes do not wait any more. */
  waited(bytes: number): void {
    const left = Math.min(bytes, this.#waiting);
    this.#waiting -= left;
    if (this.#waiting === 0) this.#largestWaiting = 0;
    this.session.dropWaiting(left);
  }

  /** How much the names take that came with it: up to two bytes for each character. */
  get nameBytes(): number {
    return 2 * ((this.caller?.length ?? 0) + (this.key?.length ?? 0));
  }

  /** Bytes of the largest piece that waits, or has waited since the first one did. */
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

  /** Tells observers of tasks in this thread about it. Calls made by this thread are reported where they are made. */
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

  /** Made on demand: most tasks never use it. */
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

  /** The caller aborted a signal among the arguments. Throws `LimitExceeded` when too many come too early. */
  abortSignal(aborted: AbortedSignal): void {
    if (this.#signals !== undefined) this.#signals.get(aborted.number)?.abort(aborted.reason());
    else {
      this.session.addEarlyFrame();
      this.#abortedEarly ??= [];
      this.#abortedEarly.push(aborted);
    }
  }

  /** Takes out the steps that arrived before the generator was made: it is made now, or never will be. */
  takeEarlySteps(): EarlySteps | undefined {
    const { early } = this;
    this.early = undefined;
    if (early !== undefined) this.session.dropEarlyFrames(early.size);
    return early;
  }

  /** The task ends: drops everything that came too early for it. */
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
