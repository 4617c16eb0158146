import { decodeContext } from "../../context/index.ts";
import { TaskTimeout } from "../../errors.ts";
import { ModuleUnavailable } from "../../functions/index.ts";
import { type CallContext, runInCallContext, type TaskRecord } from "../../routine/index.ts";
import { areTasksObserved } from "../../telemetry/index.ts";
import { setTraps } from "../../values/index.ts";
import { ResponseField, type SlicedReading } from "../../wire/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { ReadyTask } from "./ready-task.ts";
import { GeneratorRun, isAwaited } from "./routines/index.ts";
import type { RunningTask } from "./running-task.ts";
import { argumentList, connectArguments, promiseOf, sendError, type TaskFunction, whenSettled } from "./task-code.ts";
import { codeUnavailable, isA, undumpable } from "./task-errors.ts";
import { TaskPack } from "./task-pack.ts";
import {
  callObserver,
  type LaterTurns,
  RestingGenerators,
  TaskLimits,
  type TaskOccupancy,
  type TaskParking,
  type TimeSlice,
  wakeToClose,
} from "./turns/index.ts";

/** How a runner is set up. */
export interface TaskRunnerOptions {
  /** Where tasks wait when no more may run at once; undefined if any number may. */
  readonly parking: TaskParking | undefined;
  /** Until when the thread may work before its event loop has a turn, and who goes on then. */
  readonly slice: TimeSlice;
  readonly later: LaterTurns;
  /** Called when there is something to send in a session. */
  readonly touched: (session: ExecutorSession) => void;
  /** Told of code before it runs: the thread may never return from it. */
  readonly occupancy: Pick<TaskOccupancy, "started" | "ended" | "enter" | "leave">;
  /** Called after code of a task has run. False: the thread is given up, and nothing that it does from now on counts. */
  readonly isSound?: () => boolean;
  /** Called after each task that has ended. */
  readonly ended: () => void;
  /** Called when a generator of a session has taken all steps that its caller asked for. */
  readonly rested?: (session: ExecutorSession) => void;
}

const { apply } = Reflect;

/** Runs tasks: as many at once as are allowed, each in its own call context. Sends their outcomes. */
export class TaskRunner {
  readonly #options: TaskRunnerOptions;
  readonly #parking: TaskParking | undefined;
  readonly #isSound: () => boolean;
  #live = 0;
  readonly #resting: RestingGenerators;
  readonly #limits = new TaskLimits((task, timeout) => {
    this.dismiss(task, new TaskTimeout(`${task.name} did not end within its timeout of ${timeout} ms`));
  });

  constructor(options: TaskRunnerOptions) {
    this.#options = options;
    this.#parking = options.parking;
    this.#resting = new RestingGenerators(options.parking, options.slice, options.later, (session) =>
      options.rested?.(session),
    );
    this.#isSound = options.isSound ?? (() => true);
  }

  /** Tasks that have been started and have not ended. */
  get live(): number {
    return this.#live;
  }

  /** Live tasks without the generators that wait for their callers to ask for more. */
  get busy(): number {
    return this.#live - this.#resting.count;
  }

  /** Whether it runs packs. Not with a limit on tasks that run at once, because all calls of a pack begin at once. */
  get takesPacks(): boolean {
    return this.#parking === undefined;
  }

  /** Tasks that wait for others to end. */
  get waiting(): number {
    return this.#parking?.size ?? 0;
  }

  /** Starts a task, or parks it. */
  take(ready: ReadyTask): void {
    const { task } = ready;
    if (areTasksObserved()) task.observe();
    if (this.#parking === undefined) this.#start(ready);
    else {
      this.#parking.take({ task, start: () => this.#start(ready), drop: () => ready.args.drop() });
      if (task.state !== "parked") return;
      // A task whose modules may turn out to be missing goes back to its caller then, as if it had never been here.
      const isComplete = task.routine.wasMade && ready.needs.length === 0;
      if (isComplete) task.stages?.scheduled(task.worker);
      ready.hold();
    }
  }

  /** A task of another thread of the worker may have made room. */
  look(): void {
    this.#parking?.look();
  }

  /** Answers for a task that nobody wants any more, and aborts its signal. The task itself may end later. */
  dismiss(task: RunningTask, reason: unknown): void {
    if (task.wireId < 0) return;
    task.session.outbox.abandon(task.wireId);
    sendError(task, reason);
    this.abandon(task, reason);
    this.#options.touched(task.session);
  }

  /** Tells a task that nobody waits for it any more, and stops tracking it. */
  abandon(task: RunningTask, reason: unknown): void {
    task.session.tasks.delete(task.wireId);
    task.wireId = -1;
    task.exception = reason;
    task.stages?.scheduled(task.worker);
    task.stages?.completed(isA(TaskTimeout, reason) ? "timed-out" : "cancelled", reason);
    if (task.state === "parked") {
      task.state = "ended";
      task.dropEarly();
      this.#parking?.remove(task);
      return;
    }
    if (this.#parking !== undefined) wakeToClose(task, this.#parking);
    task.timer?.clear();
    task.abort(reason);
    if (task.run !== undefined) void task.run.close().then(() => this.#ended(task));
    else if (task.routine.streams) this.#ended(task);
  }

  #start(ready: ReadyTask): void {
    const { task, needs, timeout } = ready;
    const { session, routine } = task;
    task.state = "running";
    this.#options.occupancy.started(task, timeout);
    this.#live++;
    if (timeout > 0) this.#limits.add(task, timeout);
    const loading = needs.length === 0 ? undefined : session.received.ready(needs);
    const routineLoading = routine.loading;
    if (loading === undefined && routineLoading === undefined) {
      session.started(task);
      this.#run(ready);
      return;
    }
    // Shared values travel like arguments: until they have arrived, the caller should not send more.
    const awaitsValues = routine.holdsValues || session.received.holdsValues(needs);
    if (!awaitsValues) session.started(task);
    const all =
      loading === undefined || routineLoading === undefined
        ? (loading ?? routineLoading ?? Promise.resolve())
        : Promise.all([loading, routineLoading]);
    const loaded = (_held: unknown): void => {
      if (awaitsValues) session.started(task);
      if (task.wireId >= 0) this.#run(ready);
      else {
        ready.args.drop();
        this.#ended(task);
      }
    };
    all.then(
      // Very many tasks may wait for the same code. `held` keeps what was loaded until it is used.
      (held) => this.#options.later.wait(session, () => loaded(held)),
      (error: unknown) => this.#unloadable(ready, error),
    );
    this.#options.touched(session);
    ready.hold();
  }

  /**
   * Modules that the task needs are missing. If the caller is asked for their code, the arguments still belong to the
   * caller.
   */
  #unloadable(ready: ReadyTask, error: unknown): void {
    const { task } = ready;
    const { session, routine, wireId } = task;
    const isUnavailable = isA(ModuleUnavailable, error);
    if (isUnavailable && wireId >= 0) {
      // The caller sends the task again.
      task.stages = undefined;
      session.wantCode(wireId, error.message, [error.missing]);
      this.#ended(task);
      return;
    }
    ready.args.drop();
    if (isUnavailable || session.isClosed) this.#ended(task);
    else this.#raise(task, codeUnavailable(routine.name, error));
  }

  /** Reads the arguments, and runs the code when they have been read. */
  #run(ready: ReadyTask): void {
    ready.release();
    if (ready.items !== undefined) return this.#runPack(ready, ready.items);
    const { task, args: payload } = ready;
    const { session, routine } = task;
    let fn: TaskFunction;
    let callContext: CallContext;
    let args: unknown;
    try {
      // The arguments are read last. If modules are missing for the rest, the arguments are not touched and still
      // belong to the caller.
      fn = routine.function() as TaskFunction;
      callContext = this.#contextOf(ready);
      if (payload.isLarge) {
        this.#runLater(
          ready,
          payload.readInSlices(session.decoder, routine.serializer(), () => task.wireId >= 0),
          (given) => this.#enter(task, fn, callContext, given),
        );
        return;
      }
      args = payload.read(session.decoder, routine.serializer());
      connectArguments(task);
    } catch (error) {
      // Sometimes only decoding shows that a module is not the one that the code needs.
      if (isA(ModuleUnavailable, error)) return this.#unloadable(ready, error);
      payload.drop();
      this.#raise(task, error);
      return;
    }
    this.#enter(task, fn, callContext, args);
  }

  /** Runs the calls of a pack. */
  #runPack(ready: ReadyTask, items: readonly number[]): void {
    const { task } = ready;
    try {
      // Finds missing modules before any call has been run.
      task.routine.function();
    } catch (error) {
      if (isA(ModuleUnavailable, error)) return this.#unloadable(ready, error);
      return this.#raise(task, error);
    }
    new TaskPack(task, ready.args.intoMemory(), items, {
      contextOf: (record) => this.#contextOf(ready, record),
      occupancy: this.#options.occupancy,
      slice: this.#options.slice,
      later: this.#options.later,
      isSound: this.#isSound,
      touched: this.#options.touched,
      itemEnded: this.#options.ended,
      ended: () => this.#ended(task),
    }).run();
  }

  /** Runs a task when its large arguments have been read, unless nobody waits for its result by then. */
  #runLater({ task }: ReadyTask, reading: SlicedReading, enter: (args: unknown) => void): void {
    connectArguments(task);
    const run = (): void => {
      if (task.wireId >= 0) enter(reading.value());
      else this.#ended(task);
    };
    reading.done.then(run).catch((error: unknown) => this.#raise(task, error));
    this.#options.touched(task.session);
  }

  /** `record`: the task as its code sees it. */
  #contextOf({ task, pool: carrier, context }: ReadyTask, record: TaskRecord = task): CallContext {
    const calls = this.#parking === undefined ? undefined : callObserver(task, this.#parking);
    if (context === undefined) return { task: record, carrier, calls };
    return { task: record, carrier, calls, ...decodeContext(task.session.decoder, context, 0, context.length) };
  }

  #enter(task: RunningTask, fn: TaskFunction, callContext: CallContext, given: unknown): void {
    const { session, routine } = task;
    let result: unknown;
    let promise: Promise<unknown> | undefined;
    try {
      const args = argumentList(given, routine.name);
      const self = routine.method ? setTraps(args.shift()) : undefined;
      this.#options.occupancy.enter(task);
      task.stages?.scheduled(task.worker);
      if (!routine.streams) task.stages?.enter();
      result = runInCallContext(callContext, apply, fn, self, args);
      if (isAwaited(result) && !routine.streams) promise = promiseOf(result, callContext);
      this.#options.occupancy.leave();
      if (routine.streams) {
        this.#stream(task, result as Generator<unknown, unknown, unknown>, callContext);
        return;
      }
    } catch (error) {
      this.#options.occupancy.leave();
      this.#raise(task, error);
      return;
    }
    if (promise === undefined) {
      this.#return(task, result);
      return;
    }
    whenSettled(
      promise,
      (value) => this.#return(task, value),
      (error) => this.#raise(task, error),
    );
    this.#options.touched(session);
  }

  #stream(task: RunningTask, generator: Generator<unknown, unknown, unknown>, callContext: CallContext): void {
    const run = new GeneratorRun(
      generator,
      {
        yielded: (value, control) => this.#yield(task, value, control),
        returned: (value) => this.#return(task, value),
        threw: (error) => this.#raise(task, error),
        throwing: (error) => {
          task.exception = error;
        },
        relief: () => task.session.unread.relief(),
      },
      (step) => {
        task.stages?.enter();
        this.#options.occupancy.enter(task);
        try {
          return runInCallContext(callContext, step);
        } finally {
          this.#options.occupancy.leave();
        }
      },
      this.#resting.turnsOf(task),
    );
    task.run = run;
    task.takeEarlySteps()?.applyTo(run);
    if (!run.isStepping) this.#resting.rests(task);
    this.#options.touched(task.session);
  }

  #yield(task: RunningTask, value: unknown, control: boolean): void {
    if (task.wireId < 0 || !this.#isSound()) return;
    const { session, routine } = task;
    // If the step was a throw, the generator has caught the error.
    task.exception = undefined;
    task.stages?.leave();
    try {
      session.outcome(ResponseField.yielded, task.wireId, value, routine.serializer(), control, task.weak);
    } catch (error) {
      void task.run?.close();
      this.#raise(task, undumpable(task.routine, error));
      return;
    }
    this.#options.touched(session);
  }

  #return(task: RunningTask, value: unknown): void {
    if (!this.#isSound()) return;
    if (task.wireId >= 0 && !task.session.isClosed) {
      try {
        task.session.outcome(ResponseField.result, task.wireId, value, task.routine.serializer(), false, task.weak);
      } catch (error) {
        this.#raise(task, undumpable(task.routine, error));
        return;
      }
      task.exception = undefined;
    }
    task.stages?.completed("returned");
    this.#ended(task);
  }

  #raise(task: RunningTask, error: unknown): void {
    if (!this.#isSound()) return;
    task.exception = error;
    task.stages?.scheduled(task.worker);
    task.stages?.completed("threw", error);
    try {
      if (task.wireId >= 0 && !task.session.isClosed) sendError(task, error);
    } finally {
      this.#ended(task);
    }
  }

  #ended(task: RunningTask): void {
    if (task.state === "ended") return;
    const { session, wireId } = task;
    task.timer?.clear();
    if (wireId >= 0) session.tasks.delete(wireId);
    task.wireId = -1;
    this.#live--;
    this.#resting.wakes(task);
    this.#options.occupancy.ended(task);
    const held = task.state === "running";
    task.state = "ended";
    task.dropEarly();
    this.#options.touched(session);
    if (held) this.#parking?.giveBack();
    this.#options.ended();
  }
}
