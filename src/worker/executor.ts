import { decodeContext } from "../context/context-codec.ts";
import { CodeUnavailable, SerializationError, TaskCancelled, TaskTimeout, WoolError } from "../errors.ts";
import { StatusCode } from "../grpc/index.ts";
import type { Dispatcher } from "../routine/dispatcher.ts";
import { type Frame, runWithFrame } from "../routine/frame.ts";
import { RequestField, ResponseField, StepKind } from "../wire/fields.ts";
import { FrameReader } from "../wire/frame-reader.ts";
import type { MessageSink } from "../wire/outbox.ts";
import {
  CancelField,
  CreditField,
  RouteField,
  ScopeField,
  StepField,
  TaskField,
} from "../wire/request-frames.ts";
import { ExecutorSession, type LiveTask } from "./executor-session.ts";
import { GeneratorRun } from "./generator-run.ts";
import { RemoteRoutine } from "./remote-routine.ts";
import { RunningTask } from "./running-task.ts";
import type { ThreadBoard } from "./thread-board.ts";

/** Longest run of tasks without a turn of the event loop, in milliseconds. */
const SLICE_MS = 0.5;
const OWNED = { owned: true } as const;

/** How an executor is set up. */
export interface ExecutorOptions {
  readonly uid: string;
  readonly board: ThreadBoard;
  /** The way to the pool that a task came from. */
  readonly dispatcherFor: (pool: Uint8Array) => Dispatcher;
  /** Called when it has been told to stop and no task is left. */
  readonly drained: () => void;
}

interface Inbound {
  readonly session: ExecutorSession;
  readonly reader: FrameReader;
}

/** Where the encoded arguments of a task are. */
interface Payload {
  readonly buffer: Buffer;
  readonly start: number;
  readonly end: number;
  readonly owned: boolean;
}

/** Runs the tasks of all sessions of one task thread. `running`, then `stopping`: no new tasks. */
export class Executor {
  readonly #options: ExecutorOptions;
  readonly #sessions = new Map<number, ExecutorSession>();
  readonly #inbound: Inbound[] = [];
  #state: "running" | "stopping" = "running";
  #scheduled = false;
  #sliceEnd = 0;
  readonly #touched = new Set<ExecutorSession>();
  #flushScheduled = false;
  readonly #flushNow = (): void => this.#flush();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Nothing runs and nothing waits to be sent. */
  get isIdle(): boolean {
    return this.#options.board.live === 0 && this.#touched.size === 0 && this.#inbound.length === 0;
  }

  open(session: number, callerId: string, sink: MessageSink): void {
    this.#sessions.set(session, new ExecutorSession(callerId, sink));
  }

  /** The caller is gone: its tasks are told so. */
  close(session: number): void {
    const closed = this.#sessions.get(session);
    if (closed === undefined) return;
    this.#sessions.delete(session);
    closed.outbox.close();
    for (const live of [...closed.live.values()]) this.#abandon(closed, live, new TaskCancelled("the caller is gone"));
  }

  /** Large messages of a session have gone out. */
  drained(session: number): void {
    this.#sessions.get(session)?.outbox.drained();
  }

  /** Takes a message of a session. */
  receive(session: number, buffer: Buffer, start: number, end: number): void {
    const target = this.#sessions.get(session);
    if (target === undefined) return;
    this.#inbound.push({ session: target, reader: new FrameReader(buffer, start, end) });
    if (!this.#scheduled) this.#work();
  }

  /** Takes no new tasks from now on. */
  stop(): void {
    this.#state = "stopping";
    this.#reportIfDrained();
  }

  /** Cancels every task. */
  cancelAll(): void {
    for (const session of this.#sessions.values()) {
      for (const live of [...session.live.values()]) {
        this.#endAbandoned(session, live, new TaskCancelled(`${live.task.name} was cancelled: its worker is stopping`));
      }
    }
    this.#flush();
  }

  /** Works off messages for a while, then lets the event loop turn. */
  #work(): void {
    this.#scheduled = false;
    this.#sliceEnd = performance.now() + SLICE_MS;
    for (let inbound = this.#inbound[0]; inbound !== undefined; inbound = this.#inbound[0]) {
      if (!this.#readFrames(inbound)) {
        this.#scheduled = true;
        setImmediate(() => this.#work());
        return;
      }
      this.#inbound.shift();
    }
  }

  /** False when the slice is over before the message is. */
  #readFrames({ session, reader }: Inbound): boolean {
    for (let kind = reader.next(); kind !== 0; kind = reader.next()) {
      switch (kind) {
        case RequestField.task:
          this.#task(session, reader);
          if (performance.now() > this.#sliceEnd) {
            this.#touch(session);
            return false;
          }
          break;
        case RequestField.credit: {
          const steps = reader.integer(CreditField.steps);
          this.#toGenerator(session, reader.integer(CreditField.id), (run) => run.credit(steps));
          break;
        }
        case RequestField.step:
          this.#step(session, reader);
          break;
        case RequestField.cancel:
          this.#cancel(session, reader);
          break;
        case RequestField.chunk:
          session.chunks.add(reader);
          break;
        case RequestField.route:
          session.routes.delete(reader.integer(RouteField.replaces));
          session.routes.set(
            reader.integer(RouteField.number),
            new RemoteRoutine(reader, session.decoder, session.received),
          );
          break;
        case RequestField.dependency:
          session.received.add(reader);
          break;
        case RequestField.scope:
          session.scopes.set(reader.integer(ScopeField.number), Uint8Array.from(reader.view(ScopeField.pool)));
          break;
      }
    }
    return true;
  }

  #task(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(TaskField.id);
    const routine = session.routes.get(frame.integer(TaskField.route));
    const payload = readPayload(session, frame, id, TaskField.args, TaskField.chunked);
    if (this.#state === "stopping") return this.#reject(session, id, StatusCode.UNAVAILABLE, "the worker is stopping");
    if (routine === undefined) return this.#reject(session, id, StatusCode.INTERNAL, "the task names an unknown routine");
    if (session.live.has(id)) return this.#reject(session, id, StatusCode.INTERNAL, `task ${id} is running already`);
    const timeout = frame.integer(TaskField.timeout);
    const task = new RunningTask(
      routine.name,
      this.#options.uid,
      session.callerId,
      frame.integer(TaskField.sequence),
      frame.has(TaskField.caller) ? frame.text(TaskField.caller) : undefined,
      id,
      timeout,
    );
    const live: LiveTask = { task, routine, run: undefined, early: [] };
    session.live.set(id, live);
    this.#options.board.taskStarted();
    session.started(task);
    if (timeout > 0) this.#limitTime(session, live, timeout);
    const pool = session.scopes.get(frame.integer(TaskField.scope));
    const context = frame.has(TaskField.context) ? frame.view(TaskField.context) : undefined;
    const loading = frame.has(TaskField.needs) ? session.received.ready(frame.integers(TaskField.needs)) : undefined;
    if (loading === undefined && routine.loading === undefined) {
      this.#run(session, live, pool, context, payload);
      return;
    }
    Promise.all([loading, routine.loading]).then(
      () => {
        if (task.wireId >= 0) this.#run(session, live, pool, context, payload);
      },
      (error: unknown) => this.#raise(session, live, codeUnavailable(routine.name, error)),
    );
    this.#touch(session);
  }

  #run(
    session: ExecutorSession,
    live: LiveTask,
    pool: Uint8Array | undefined,
    context: Buffer | undefined,
    payload: Payload,
  ): void {
    const { task, routine } = live;
    let result: unknown;
    try {
      const serializer = routine.serializer();
      const { buffer, start, end, owned } = payload;
      const args = (
        serializer === undefined
          ? session.decoder.decode(buffer, start, end, owned ? OWNED : undefined)
          : serializer.loads(buffer.subarray(start, end))
      ) as unknown[];
      const frame: Frame = {
        task,
        dispatcher: pool === undefined ? undefined : this.#options.dispatcherFor(pool),
        ...(context === undefined ? undefined : decodeContext(session.decoder, context, 0, context.length)),
      };
      const self = routine.method ? args.shift() : undefined;
      const fn = routine.function();
      if (routine.streams) {
        const generator = runWithFrame(frame, () => Reflect.apply(fn, self, args)) as Generator<unknown, unknown, unknown>;
        this.#stream(session, live, generator, frame);
        return;
      }
      result = runWithFrame(frame, Reflect.apply, fn as (this: unknown) => unknown, self, args);
    } catch (error) {
      this.#raise(session, live, error);
      return;
    }
    if (isThenable(result)) {
      result.then(
        (value) => this.#return(session, live, value),
        (error: unknown) => this.#raise(session, live, error),
      );
      this.#touch(session);
    } else this.#return(session, live, result);
  }

  #stream(session: ExecutorSession, live: LiveTask, generator: Generator<unknown, unknown, unknown>, frame: Frame): void {
    const run = new GeneratorRun(
      generator,
      {
        yielded: (value, control) => this.#yield(session, live, value, control),
        returned: (value) => this.#return(session, live, value),
        threw: (error) => this.#raise(session, live, error),
      },
      (step) => runWithFrame(frame, step),
    );
    live.run = run;
    for (const step of live.early.splice(0)) step(run);
    this.#touch(session);
  }

  #step(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(StepField.id);
    const kind = frame.integer(StepField.kind) as StepKind;
    const after = frame.integer(StepField.after);
    const { buffer, start, end, owned } = readPayload(session, frame, id, StepField.value, StepField.chunked);
    const needs = frame.integers(StepField.needs);
    this.#toGenerator(session, id, (run) => {
      const serializer = session.live.get(id)?.routine.serializer();
      const advance = (): void => {
        const value =
          serializer === undefined
            ? session.decoder.decode(buffer, start, end, owned ? OWNED : undefined)
            : serializer.loads(buffer.subarray(start, end));
        run.step(kind, value, after);
      };
      const loading = session.received.ready(needs);
      if (loading === undefined) advance();
      else loading.then(advance, (error: unknown) => run.step(StepKind.throw, error, after));
    });
  }

  #toGenerator(session: ExecutorSession, id: number, step: (run: GeneratorRun) => void): void {
    const live = session.live.get(id);
    if (live === undefined) return;
    if (live.run === undefined) live.early.push(step);
    else step(live.run);
  }

  #yield(session: ExecutorSession, live: LiveTask, value: unknown, control: boolean): void {
    const { task, routine } = live;
    if (task.wireId < 0) return;
    try {
      session.outcome(ResponseField.yielded, task.wireId, value, routine.serializer(), control);
    } catch (error) {
      void live.run?.close();
      this.#raise(session, live, error);
      return;
    }
    this.#touch(session);
  }

  #return(session: ExecutorSession, live: LiveTask, value: unknown): void {
    const { task, routine } = live;
    if (task.wireId >= 0) {
      try {
        session.outcome(ResponseField.result, task.wireId, value, routine.serializer(), false);
      } catch (error) {
        this.#raise(session, live, error);
        return;
      }
    }
    this.#ended(session, live);
  }

  #raise(session: ExecutorSession, live: LiveTask, error: unknown): void {
    const { task, routine } = live;
    task.exception = error;
    if (task.wireId >= 0) this.#sendError(session, task.wireId, routine, error);
    this.#ended(session, live);
  }

  #sendError(session: ExecutorSession, id: number, routine: RemoteRoutine, error: unknown): void {
    try {
      session.outcome(ResponseField.raised, id, error, routine.serializer(), false);
    } catch (cause) {
      session.outcome(ResponseField.raised, id, untransportable(routine.name, error, cause), undefined, false);
    }
  }

  #ended(session: ExecutorSession, live: LiveTask): void {
    const { task } = live;
    clearTimeout(task.timer);
    if (task.wireId >= 0) session.live.delete(task.wireId);
    task.wireId = -1;
    this.#options.board.taskEnded();
    this.#touch(session);
    this.#reportIfDrained();
  }

  #limitTime(session: ExecutorSession, live: LiveTask, timeout: number): void {
    const { task } = live;
    task.timer = setTimeout(() => {
      this.#endAbandoned(session, live, new TaskTimeout(`${task.name} did not end within its timeout of ${timeout} ms`));
    }, timeout);
  }

  #cancel(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(CancelField.id);
    session.chunks.drop(id);
    const live = session.live.get(id);
    if (live === undefined) return;
    let reason: unknown;
    try {
      const ready = session.received.ready(frame.integers(CancelField.needs)) === undefined;
      if (ready && frame.has(CancelField.reason)) reason = session.decoder.decode(frame.view(CancelField.reason));
    } catch {
      // A reason that cannot be read is no reason to go on.
    }
    this.#endAbandoned(session, live, reason ?? new TaskCancelled(`${live.task.name} was cancelled`));
  }

  /** Answers for a task that is no longer wanted, and tells it so. It may take its time to end. */
  #endAbandoned(session: ExecutorSession, live: LiveTask, reason: unknown): void {
    if (live.task.wireId < 0) return;
    this.#sendError(session, live.task.wireId, live.routine, reason);
    this.#abandon(session, live, reason);
    this.#touch(session);
  }

  #abandon(session: ExecutorSession, live: LiveTask, reason: unknown): void {
    const { task } = live;
    session.live.delete(task.wireId);
    task.wireId = -1;
    clearTimeout(task.timer);
    task.abort(reason);
    if (live.run !== undefined) void live.run.close().then(() => this.#ended(session, live));
    else if (live.routine.streams) this.#ended(session, live);
  }

  #reject(session: ExecutorSession, id: number, status: number, message: string): void {
    session.reject(id, status, message);
    this.#touch(session);
  }

  #reportIfDrained(): void {
    if (this.#state === "stopping" && this.#options.board.live === 0) {
      this.#flush();
      this.#options.drained();
    }
  }

  /** Something is to be sent: at once when nothing else goes on, else together with what comes next. */
  #touch(session: ExecutorSession): void {
    this.#touched.add(session);
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    if (this.#options.board.live === 0 && this.#inbound.length <= 1) process.nextTick(this.#flushNow);
    else setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#flushScheduled = false;
    for (const session of this.#touched) session.flush();
    this.#touched.clear();
  }
}

function readPayload(
  session: ExecutorSession,
  frame: FrameReader,
  id: number,
  bytesField: number,
  chunkedField: number,
): Payload {
  const chunked = frame.integer(chunkedField);
  if (chunked === 0) {
    return { buffer: frame.buffer, start: frame.start(bytesField), end: frame.end(bytesField), owned: false };
  }
  const buffer = session.chunks.take(id, chunked);
  return { buffer, start: 0, end: buffer.length, owned: true };
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
  );
}

function codeUnavailable(routine: string, cause: unknown): Error {
  if (WoolError.isWoolError(cause)) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new CodeUnavailable(`the worker cannot load what ${routine} needs: ${reason}`, { cause });
}

/** Stands for a thrown value that cannot travel. */
function untransportable(routine: string, error: unknown, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const path = cause instanceof SerializationError ? cause.path : "error";
  return new SerializationError(`${routine} threw something that cannot travel (${what}): ${reason}`, path);
}
