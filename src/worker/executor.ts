import { decodeContext } from "../context/context-codec.ts";
import { CodeUnavailable, SerializationError, TaskCancelled, TaskTimeout, WoolError } from "../errors.ts";
import { StatusCode } from "../grpc/index.ts";
import type { Dispatcher } from "../routine/dispatcher.ts";
import { type Frame, runWithFrame } from "../routine/frame.ts";
import { trimStack } from "../routine/runtime-frames.ts";
import { LAST_REQUEST_FIELD, RequestField, ResponseField, StepKind } from "../wire/fields.ts";
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
import { writePace } from "../wire/response-frames.ts";
import { ExecutorSession } from "./executor-session.ts";
import { GeneratorRun } from "./generator-run.ts";
import { PaceMeter } from "./pace-meter.ts";
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
  /** Called for a session whose caller sent what the protocol does not allow. */
  readonly malformed: (session: number, reason: string) => void;
  /** Called when it has been told to stop and no task is left. */
  readonly drained: () => void;
}

interface Inbound {
  readonly number: number;
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
  readonly #readers: FrameReader[] = [];
  #state: "running" | "stopping" = "running";
  #scheduled = false;
  #sliceEnd = 0;
  /** Tasks that have been started and have not ended. */
  #live = 0;
  readonly #touched = new Set<ExecutorSession>();
  #flushScheduled = false;
  readonly #pace = new PaceMeter();
  #endedSinceFlush = 0;
  readonly #flushNow = (): void => this.#flush();

  constructor(options: ExecutorOptions) {
    this.#options = options;
  }

  /** Nothing runs and nothing waits to be sent. */
  get isIdle(): boolean {
    return this.#live === 0 && this.#touched.size === 0 && this.#inbound.length === 0;
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
    for (const task of closed.tasks.list()) this.#abandon(task, new TaskCancelled("the caller is gone"));
  }

  /** Large messages of a session have gone out. */
  drained(session: number): void {
    this.#sessions.get(session)?.outbox.drained();
  }

  /** Takes a message of a session. */
  receive(session: number, buffer: Buffer, start: number, end: number): void {
    const target = this.#sessions.get(session);
    if (target === undefined) return;
    const reader = this.#readers.pop() ?? new FrameReader(LAST_REQUEST_FIELD);
    this.#inbound.push({ number: session, session: target, reader: reader.open(buffer, start, end) });
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
      for (const task of session.tasks.list()) {
        this.#endAbandoned(task, new TaskCancelled(`${task.name} was cancelled: its worker is stopping`));
      }
    }
    this.#flush();
  }

  /** Works off messages for a while, then lets the event loop turn. */
  #work(): void {
    this.#scheduled = false;
    this.#sliceEnd = performance.now() + SLICE_MS;
    for (let inbound = this.#inbound[0]; inbound !== undefined; inbound = this.#inbound[0]) {
      if (!this.#readSafely(inbound)) {
        this.#scheduled = true;
        setImmediate(() => this.#work());
        return;
      }
      this.#inbound.shift();
      this.#readers.push(inbound.reader);
    }
  }

  /** A caller that sends nonsense loses its session; others notice nothing. */
  #readSafely(inbound: Inbound): boolean {
    try {
      return this.#readFrames(inbound);
    } catch (error) {
      this.#options.malformed(inbound.number, error instanceof Error ? error.message : String(error));
      this.close(inbound.number);
      return true;
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
    if (session.tasks.get(id) !== undefined) {
      return this.#reject(session, id, StatusCode.INTERNAL, `task ${id} is running already`);
    }
    const timeout = frame.integer(TaskField.timeout);
    const task = new RunningTask(
      session,
      routine,
      this.#options.uid,
      id,
      frame.integer(TaskField.sequence),
      frame.has(TaskField.caller) ? frame.text(TaskField.caller) : undefined,
      timeout,
    );
    session.tasks.set(id, task);
    session.started(task);
    // What the gRPC thread sees must not wait for the end of a task that blocks this one.
    if (++this.#live === 1) this.#options.board.live = 1;
    if (timeout > 0) this.#limitTime(task, timeout);
    const pool = session.scopes.get(frame.integer(TaskField.scope));
    const context = frame.has(TaskField.context) ? frame.view(TaskField.context) : undefined;
    const loading = frame.has(TaskField.needs) ? session.received.ready(frame.integers(TaskField.needs)) : undefined;
    if (loading === undefined && routine.loading === undefined) {
      this.#run(task, pool, context, payload);
      return;
    }
    Promise.all([loading, routine.loading]).then(
      () => {
        if (task.wireId >= 0) this.#run(task, pool, context, payload);
      },
      (error: unknown) => this.#raise(task, codeUnavailable(routine.name, error)),
    );
    this.#touch(session);
  }

  #run(task: RunningTask, pool: Uint8Array | undefined, context: Buffer | undefined, payload: Payload): void {
    const { session, routine } = task;
    let result: unknown;
    try {
      const serializer = routine.serializer();
      const { buffer, start, end, owned } = payload;
      const args = (
        serializer === undefined
          ? session.decoder.decode(buffer, start, end, owned ? OWNED : undefined)
          : serializer.loads(buffer.subarray(start, end))
      ) as unknown[];
      const dispatcher = pool === undefined ? undefined : this.#options.dispatcherFor(pool);
      const frame: Frame =
        context === undefined
          ? { task, dispatcher }
          : { task, dispatcher, ...decodeContext(session.decoder, context, 0, context.length) };
      const self = routine.method ? args.shift() : undefined;
      const fn = routine.function() as (this: unknown, ...args: unknown[]) => unknown;
      result = runWithFrame(frame, Reflect.apply, fn, self, args);
      if (routine.streams) {
        this.#stream(task, result as Generator<unknown, unknown, unknown>, frame);
        return;
      }
    } catch (error) {
      this.#raise(task, error);
      return;
    }
    if (isThenable(result)) {
      result.then(
        (value) => this.#return(task, value),
        (error: unknown) => this.#raise(task, error),
      );
      this.#touch(session);
    } else this.#return(task, result);
  }

  #stream(task: RunningTask, generator: Generator<unknown, unknown, unknown>, frame: Frame): void {
    const run = new GeneratorRun(
      generator,
      {
        yielded: (value, control) => this.#yield(task, value, control),
        returned: (value) => this.#return(task, value),
        threw: (error) => this.#raise(task, error),
      },
      (step) => runWithFrame(frame, step),
    );
    task.run = run;
    for (const step of task.early ?? []) step(run);
    task.early = undefined;
    this.#touch(task.session);
  }

  #step(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(StepField.id);
    const kind = frame.integer(StepField.kind) as StepKind;
    const after = frame.integer(StepField.after);
    const { buffer, start, end, owned } = readPayload(session, frame, id, StepField.value, StepField.chunked);
    const needs = frame.integers(StepField.needs);
    const serializer = session.tasks.get(id)?.routine.serializer();
    this.#toGenerator(session, id, (run) => {
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
    const task = session.tasks.get(id);
    if (task === undefined) return;
    if (task.run !== undefined) step(task.run);
    else {
      task.early ??= [];
      task.early.push(step);
    }
  }

  #yield(task: RunningTask, value: unknown, control: boolean): void {
    if (task.wireId < 0) return;
    const { session, routine } = task;
    try {
      session.outcome(ResponseField.yielded, task.wireId, value, routine.serializer(), control);
    } catch (error) {
      void task.run?.close();
      this.#raise(task, error);
      return;
    }
    this.#touch(session);
  }

  #return(task: RunningTask, value: unknown): void {
    if (task.wireId >= 0) {
      try {
        task.session.outcome(ResponseField.result, task.wireId, value, task.routine.serializer(), false);
      } catch (error) {
        this.#raise(task, error);
        return;
      }
    }
    this.#ended(task);
  }

  #raise(task: RunningTask, error: unknown): void {
    task.exception = error;
    if (task.wireId >= 0) this.#sendError(task, error);
    this.#ended(task);
  }

  #sendError(task: RunningTask, error: unknown): void {
    const { session, routine, wireId } = task;
    trimStack(error);
    try {
      session.outcome(ResponseField.raised, wireId, error, routine.serializer(), false);
    } catch (cause) {
      session.outcome(ResponseField.raised, wireId, untransportable(routine.name, error, cause), undefined, false);
    }
  }

  #ended(task: RunningTask): void {
    const { session, wireId } = task;
    if (task.timer !== undefined) clearTimeout(task.timer);
    if (wireId >= 0) session.tasks.delete(wireId);
    task.wireId = -1;
    this.#live--;
    this.#endedSinceFlush++;
    this.#touch(session);
    if (this.#state === "stopping") this.#reportIfDrained();
  }

  #limitTime(task: RunningTask, timeout: number): void {
    task.timer = setTimeout(() => {
      this.#endAbandoned(task, new TaskTimeout(`${task.name} did not end within its timeout of ${timeout} ms`));
    }, timeout);
  }

  #cancel(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(CancelField.id);
    session.chunks.drop(id);
    const task = session.tasks.get(id);
    if (task === undefined) return;
    let reason: unknown;
    try {
      const ready = session.received.ready(frame.integers(CancelField.needs)) === undefined;
      if (ready && frame.has(CancelField.reason)) reason = session.decoder.decode(frame.view(CancelField.reason));
    } catch {
      // A reason that cannot be read is no reason to go on.
    }
    this.#endAbandoned(task, reason ?? new TaskCancelled(`${task.name} was cancelled`));
  }

  /** Answers for a task that is no longer wanted, and tells it so. It may take its time to end. */
  #endAbandoned(task: RunningTask, reason: unknown): void {
    if (task.wireId < 0) return;
    this.#sendError(task, reason);
    this.#abandon(task, reason);
    this.#touch(task.session);
  }

  #abandon(task: RunningTask, reason: unknown): void {
    task.session.tasks.delete(task.wireId);
    task.wireId = -1;
    if (task.timer !== undefined) clearTimeout(task.timer);
    task.abort(reason);
    if (task.run !== undefined) void task.run.close().then(() => this.#ended(task));
    else if (task.routine.streams) this.#ended(task);
  }

  #reject(session: ExecutorSession, id: number, status: number, message: string): void {
    session.reject(id, status, message);
    this.#touch(session);
  }

  #reportIfDrained(): void {
    if (this.#state !== "stopping" || this.#live > 0) return;
    this.#flush();
    this.#options.drained();
  }

  /** Something is to be sent: at once when nothing else goes on, else together with what comes next. */
  #touch(session: ExecutorSession): void {
    this.#touched.add(session);
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    if (this.#live === 0 && this.#inbound.length <= 1) process.nextTick(this.#flushNow);
    else setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#flushScheduled = false;
    const { board } = this.#options;
    const pace = this.#pace.read(this.#endedSinceFlush);
    board.live = this.#live;
    if (this.#endedSinceFlush > 0) board.taskEnded();
    this.#endedSinceFlush = 0;
    for (const session of this.#touched) {
      if (pace > 0) writePace(session.outbox.writer, pace);
      session.flush();
    }
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
