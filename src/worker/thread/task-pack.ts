import { takeArrivedSignals, taskId } from "../../call/index.ts";
import { processId } from "../../functions/index.ts";
import { type CallContext, runInCallContext, type TaskRecord } from "../../routine/index.ts";
import { areTasksObserved, TaskStages } from "../../telemetry/index.ts";
import type { WeakCollection } from "../../values/index.ts";
import { type Payload, ResponseField } from "../../wire/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import { isAwaited } from "./routines/index.ts";
import type { RunningTask } from "./running-task.ts";
import { argumentList, promiseOf, sendError, type TaskFunction, whenSettled } from "./task-code.ts";
import { undumpable } from "./task-errors.ts";
import type { LaterTurns, TaskOccupancy, TimeSlice } from "./turns/index.ts";

/** Calls that are begun between two looks at the clock, which cost 0.1 to 0.2 us each. */
const CALLS_PER_LOOK = 16;

const { apply } = Reflect;

/** What a pack needs of the runner. */
export interface PackHost {
  /** The call context of one call. */
  contextOf(record: TaskRecord): CallContext;
  readonly occupancy: Pick<TaskOccupancy, "enter" | "leave">;
  readonly slice: TimeSlice;
  readonly later: LaterTurns;
  readonly isSound: () => boolean;
  readonly touched: (session: ExecutorSession) => void;
  /** One of its calls has ended, and it was not the last. */
  readonly itemEnded: () => void;
  /** All of its calls have ended. */
  readonly ended: () => void;
}

/** One call of a pack, as its code knows it. */
class PackItem implements TaskRecord {
  readonly #pack: RunningTask;
  readonly #index: number;
  exception: unknown;
  weak: readonly WeakCollection[];
  stages: TaskStages | undefined;

  constructor(pack: RunningTask, index: number) {
    this.#pack = pack;
    this.#index = index;
    this.weak = pack.weak;
  }

  /** Its number in answers. */
  get number(): number {
    return this.#index + 1;
  }

  get id(): string {
    return taskId(this.#pack.session.callerId, this.#pack.sequence + this.#index);
  }

  get caller(): string | undefined {
    return this.#pack.caller;
  }

  get name(): string {
    return this.#pack.name;
  }

  get tag(): string {
    return this.#pack.tag;
  }

  get worker(): string {
    return this.#pack.worker;
  }

  get deadline(): number | undefined {
    return this.#pack.deadline;
  }

  get key(): string | undefined {
    return this.#pack.key;
  }

  get signal(): AbortSignal {
    return this.#pack.signal;
  }

  /** Tells observers of tasks in this thread about it: see `RunningTask`. */
  observe(): void {
    const { id, name, caller } = this;
    if (this.#pack.session.callerId === processId) return;
    this.stages = new TaskStages({ id, ...(caller === undefined ? {} : { caller }), name, tag: name, kind: "call" });
    this.stages.scheduled(this.worker);
    this.stages.enter();
  }
}

/** Waiters that are not in use. */
const waiters: Waiter[] = [];
const MOST_WAITERS = 1024;

/**
 * Waits for the promise of one call of a pack, and then of another. New functions for each call take a tenth more of the
 * thread's time: the engine looks for the code of each, and collects them.
 */
class Waiter {
  #pack: TaskPack | undefined;
  #item: PackItem | undefined;

  wait(pack: TaskPack, item: PackItem, promise: Promise<unknown>): void {
    this.#pack = pack;
    this.#item = item;
    whenSettled(promise, this.#returned, this.#threw);
  }

  // A promise calls one of these, once.
  readonly #returned = (value: unknown): void => {
    const [pack, item] = [this.#pack, this.#item];
    this.#release();
    if (pack !== undefined && item !== undefined) pack.returned(item, value);
  };

  readonly #threw = (error: unknown): void => {
    const [pack, item] = [this.#pack, this.#item];
    this.#release();
    if (pack !== undefined && item !== undefined) pack.threw(item, error);
  };

  #release(): void {
    this.#pack = undefined;
    this.#item = undefined;
    if (waiters.length < MOST_WAITERS) waiters.push(this);
  }
}

/**
 * Several calls of one routine that came together. Each runs as if it had come alone, with its own record, call context
 * and answer. They share what connects a task to its caller: an id, a place in tables, a cancellation. (Trivial items:
 * 2.3 times as many per second as in separate tasks.)
 */
export class TaskPack {
  readonly #task: RunningTask;
  #args: Payload;
  readonly #lengths: readonly number[];
  readonly #host: PackHost;
  /** The next call to begin, and where its arguments start in the payload. */
  #next = 0;
  #offset = 0;
  /** Calls that have not ended. */
  #left: number;

  /** `lengths`: how many bytes of `args`, which are in memory, each call has. */
  constructor(task: RunningTask, args: Payload, lengths: readonly number[], host: PackHost) {
    this.#task = task;
    this.#args = args;
    this.#lengths = lengths;
    this.#host = host;
    this.#left = lengths.length;
    // The pack itself counts already, as a task.
    task.session.live += lengths.length - 1;
  }

  /** Begins as many calls as fit into a slice of time, and the rest in later turns of the event loop. */
  run(): void {
    const { occupancy, touched, slice, later } = this.#host;
    occupancy.enter(this.#task);
    while (this.#next < this.#lengths.length) {
      // Nobody waits for the rest.
      if (this.#task.wireId < 0) {
        this.#end(this.#lengths.length - this.#next);
        break;
      }
      this.#begin();
      if (this.#next % CALLS_PER_LOOK !== 0 || !slice.isOver) continue;
      if (this.#next === this.#lengths.length) break;
      this.#args = this.#args.detached();
      later.wait(this.#task.session, () => this.run());
      break;
    }
    occupancy.leave();
    touched(this.#task.session);
  }

  #begin(): void {
    const { session, routine } = this.#task;
    const index = this.#next++;
    const start = this.#args.start + this.#offset;
    const end = start + (this.#lengths[index] as number);
    this.#offset = end - this.#args.start;
    const item = new PackItem(this.#task, index);
    let result: unknown;
    let promise: Promise<unknown> | undefined;
    try {
      const fn = routine.packFunction() as TaskFunction;
      const args = argumentList(session.decoder.decode(this.#args.buffer, start, end), routine.name);
      // Callers send no signals in packs. If one does, its signals must not be taken for those of the next task.
      takeArrivedSignals();
      const { weakCollections } = session.decoder;
      item.weak = weakCollections.length === 0 ? routine.weak : [...routine.weak, ...weakCollections];
      if (areTasksObserved()) item.observe();
      const callContext = this.#host.contextOf(item);
      result = runInCallContext(callContext, apply, fn, undefined, args);
      if (isAwaited(result)) promise = promiseOf(result, callContext);
    } catch (error) {
      this.threw(item, error);
      return;
    }
    if (promise === undefined) this.returned(item, result);
    else (waiters.pop() ?? new Waiter()).wait(this, item, promise);
  }

  /** The code of a call has returned a value. */
  returned(item: PackItem, value: unknown): void {
    if (!this.#host.isSound()) return;
    const { session, routine, wireId } = this.#task;
    if (wireId >= 0 && !session.isClosed) {
      try {
        session.outcome(ResponseField.result, wireId, value, undefined, false, item.weak, item.number);
      } catch (error) {
        this.threw(item, undumpable(routine, error));
        return;
      }
    }
    item.stages?.completed("returned");
    this.#end(1);
  }

  /** The code of a call has thrown. */
  threw(item: PackItem, error: unknown): void {
    if (!this.#host.isSound()) return;
    item.exception = error;
    item.stages?.completed("threw", error);
    const { session, wireId } = this.#task;
    try {
      if (wireId >= 0 && !session.isClosed) sendError(this.#task, error, item.weak, item.number);
    } finally {
      this.#end(1);
    }
  }

  #end(count: number): void {
    const { session } = this.#task;
    this.#left -= count;
    session.live -= this.#left === 0 ? count - 1 : count;
    this.#host.touched(session);
    if (this.#left === 0) this.#host.ended();
    else this.#host.itemEnded();
  }
}
