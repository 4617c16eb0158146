import { TaskCancelled } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import type { CallCarrier } from "../../routine/index.ts";
import type { PeerIdentity } from "../../security/index.ts";
import {
  AbortField,
  ARGUMENT_FIELDS,
  CancelField,
  CreditField,
  FrameReader,
  LAST_REQUEST_FIELD,
  MalformedFrame,
  type MessageSink,
  Payload,
  type PayloadStore,
  PoolReferenceField,
  RequestField,
  RouteField,
  StepField,
  StepKind,
  TaskField,
  writePace,
} from "../../wire/index.ts";
import type { ThreadBoard } from "../shared/index.ts";
import { ExecutorSession } from "./executor-session.ts";
import type { GeneratorRun } from "./generator-run.ts";
import { PaceMeter } from "./pace-meter.ts";
import { RemoteRoutine } from "./remote-routine.ts";
import { RunningTask } from "./running-task.ts";
import { type AdmissionHooks, TaskAdmission } from "./task-admission.ts";
import { TaskOccupancy } from "./task-occupancy.ts";
import { TaskParking, type TaskParkingOptions } from "./task-parking.ts";
import { type ReadyTask, TaskRunner } from "./task-runner.ts";

/** Longest run of tasks without a turn of the event loop, in milliseconds. */
const SLICE_MS = 2;

/** How an executor is set up. */
export interface ExecutorOptions {
  readonly uid: string;
  readonly board: ThreadBoard;
  /** How many tasks may run at once in the threads of the worker; nothing if any number may. */
  readonly slots: Pick<TaskParkingOptions, "slots" | "lane" | "announce"> | undefined;
  /** The way to the pool that a task came from. */
  readonly carrierFor: (pool: Uint8Array) => CallCarrier;
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

/**
 * The sessions of one task thread: reads what callers send, has it run, and sends messages back.
 * `running`; `stopping`: no new tasks; `drained`: none is left, and that was reported.
 */
export class Executor {
  /** Runs the tasks. */
  readonly runner: TaskRunner;
  readonly #options: ExecutorOptions;
  readonly #sessions = new Map<number, ExecutorSession>();
  readonly #inbound: Inbound[] = [];
  readonly #readers: FrameReader[] = [];
  readonly #touched = new Set<ExecutorSession>();
  readonly #pace = new PaceMeter();
  #state: "running" | "stopping" | "drained" = "running";
  #workScheduled = false;
  #flushScheduled = false;
  #sliceEnd = 0;
  #endedSinceFlush = 0;
  #admission: TaskAdmission | undefined;
  readonly #workNow = (): void => this.#work();
  readonly #flushNow = (): void => this.#flush();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { slots } = options;
    this.runner = new TaskRunner({
      parking: slots === undefined ? undefined : new TaskParking(slots),
      carrierFor: options.carrierFor,
      touched: (session) => this.#touch(session),
      occupancy: new TaskOccupancy(options.board),
      ended: () => {
        this.#endedSinceFlush++;
        this.#reportIfDrained();
      },
    });
  }

  /** Has hooks decide which of the tasks that arrive from now on are taken. */
  askFirst(hooks: AdmissionHooks): void {
    this.#admission = new TaskAdmission(hooks, {
      runner: this.runner,
      refuse: (session, id, status, message) => this.#reject(session, id, status, message),
    });
  }

  /** Nothing runs and nothing waits to be sent. */
  get isIdle(): boolean {
    return this.runner.live === 0 && this.#touched.size === 0 && this.#inbound.length === 0;
  }

  /** A caller opened a session. `store`: shared with the caller, for large payloads. `peer`: who the caller proved to be. */
  open(
    session: number,
    callerId: string,
    store: PayloadStore | undefined,
    sink: MessageSink,
    peer?: PeerIdentity,
  ): void {
    this.#sessions.set(session, new ExecutorSession(session, callerId, store, sink, peer));
  }

  /** The caller is gone: its tasks are told so. */
  close(session: number): void {
    const closed = this.#sessions.get(session);
    if (closed === undefined) return;
    this.#sessions.delete(session);
    closed.outbox.close();
    for (const task of closed.tasks.list()) this.runner.abandon(task, new TaskCancelled("the caller is gone"));
    this.#reportIfDrained();
  }

  /**
   * Whether a session from which nothing more comes has nothing left to send. Generators that wait to be asked for more
   * do so in vain then.
   */
  isFinished(session: number): boolean {
    const asked = this.#sessions.get(session);
    if (asked === undefined) return true;
    if (this.#touched.has(asked) || this.#inbound.some((inbound) => inbound.session === asked)) return false;
    return asked.outbox.isEmpty && asked.tasks.list().every(({ run }) => run !== undefined && !run.isStepping);
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
    if (!this.#workScheduled) this.#work();
  }

  /** Takes no new tasks from now on. */
  stop(): void {
    this.#state = "stopping";
    this.#admission?.stop();
    this.#reportIfDrained();
  }

  /** Cancels every task. */
  cancelAll(): void {
    for (const session of this.#sessions.values()) {
      for (const task of session.tasks.list()) {
        this.runner.dismiss(task, new TaskCancelled(`${task.name} was cancelled: its worker is stopping`));
      }
    }
    this.#flush();
    this.#reportIfDrained();
  }

  /** Works off messages for a while, then lets the event loop turn. */
  #work(): void {
    this.#workScheduled = false;
    this.#sliceEnd = performance.now() + SLICE_MS;
    for (let inbound = this.#inbound[0]; inbound !== undefined; inbound = this.#inbound[0]) {
      if (!this.#readSafely(inbound)) {
        this.#workScheduled = true;
        setImmediate(this.#workNow);
        return;
      }
      this.#inbound.shift();
      this.#readers.push(inbound.reader);
    }
  }

  /** A caller that sends nonsense loses its session; others notice nothing. */
  #readSafely(inbound: Inbound): boolean {
    // What a caller sent before it went is not to be run any more.
    if (this.#sessions.get(inbound.number) !== inbound.session) return true;
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
        case RequestField.hello:
          throw new MalformedFrame("a hello is allowed in the first message of a session only");
        case RequestField.task:
          this.#task(session, reader);
          if (performance.now() > this.#sliceEnd) {
            this.#touch(session);
            return false;
          }
          break;
        case RequestField.credit: {
          const steps = reader.integer(CreditField.steps);
          toGenerator(session.tasks.get(reader.integer(CreditField.id)), (run) => run.credit(steps));
          break;
        }
        case RequestField.step:
          this.#step(session, reader);
          break;
        case RequestField.cancel:
          this.#cancel(session, reader);
          break;
        case RequestField.abort:
          this.#abort(session, reader);
          break;
        case RequestField.chunk:
          session.payloads.addChunk(reader);
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
        case RequestField.pool:
          session.pools.set(
            reader.integer(PoolReferenceField.number),
            Uint8Array.from(reader.view(PoolReferenceField.description)),
          );
          break;
      }
    }
    return true;
  }

  #task(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(TaskField.id);
    const routine = session.routes.get(frame.integer(TaskField.route));
    if (this.#state !== "running") return this.#reject(session, id, StatusCode.UNAVAILABLE, "the worker is stopping");
    if (routine === undefined)
      return this.#reject(session, id, StatusCode.INTERNAL, "the task names an unknown routine");
    if (session.tasks.get(id) !== undefined) {
      return this.#reject(session, id, StatusCode.INTERNAL, `task ${id} is running already`);
    }
    const args = session.payloads.take(frame, id, ARGUMENT_FIELDS, Payload.EMPTY);
    const timeout = frame.integer(TaskField.timeout);
    const task = new RunningTask(
      session,
      routine,
      this.#options.uid,
      id,
      frame.integer(TaskField.sequence),
      frame.has(TaskField.caller) ? frame.text(TaskField.caller) : undefined,
      timeout,
      frame.has(TaskField.key) ? frame.text(TaskField.key) : undefined,
    );
    session.tasks.set(id, task);
    if (session.earlyAborts.size > 0) {
      for (const aborted of session.earlyAborts.get(id) ?? []) task.abortSignal(aborted);
      session.earlyAborts.delete(id);
    }
    const ready: ReadyTask = {
      task,
      args,
      pool: session.pools.get(frame.integer(TaskField.pool)),
      context: frame.has(TaskField.context) ? frame.view(TaskField.context) : undefined,
      loading: frame.has(TaskField.needs) ? session.received.ready(frame.integers(TaskField.needs)) : undefined,
      timeout,
    };
    if (this.#admission === undefined) this.runner.take(ready);
    else this.#admission.ask(ready);
  }

  #step(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(StepField.id);
    const kind = frame.integer(StepField.kind) as StepKind;
    const after = frame.integer(StepField.after);
    const value = session.payloads.take(frame, id, StepField);
    const needs = frame.integers(StepField.needs);
    const task = session.tasks.get(id);
    if (task === undefined) return;
    toGenerator(task, (run) => {
      const loading = session.received.ready(needs);
      const advance = (): void => {
        let sent: unknown;
        try {
          sent = value.read(session.decoder, task.routine.serializer());
        } catch (error) {
          run.step(StepKind.throw, error, after);
          return;
        }
        run.step(kind, sent, after);
      };
      if (loading === undefined) advance();
      else loading.then(advance, (error: unknown) => run.step(StepKind.throw, error, after));
    });
  }

  #cancel(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(CancelField.id);
    session.payloads.dropChunks(id);
    const task = session.tasks.get(id);
    if (task === undefined) return;
    const reason = readReason(session, frame, CancelField);
    this.runner.dismiss(task, reason ?? new TaskCancelled(`${task.name} was cancelled`));
    this.#reportIfDrained();
  }

  #abort(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(AbortField.id);
    const aborted = { number: frame.integer(AbortField.signal), reason: readReason(session, frame, AbortField) };
    if (frame.integer(AbortField.early) === 0) session.tasks.get(id)?.abortSignal(aborted);
    else session.earlyAborts.set(id, [...(session.earlyAborts.get(id) ?? []), aborted]);
  }

  /** Refuses a task before anything of it is used: what is in a file stays the caller's. */
  #reject(session: ExecutorSession, id: number, status: number, message: string): void {
    session.payloads.dropChunks(id);
    session.earlyAborts.delete(id);
    session.reject(id, status, message);
    this.#touch(session);
  }

  /** To be called wherever the last task may have gone: one that waited goes without having been run. */
  #reportIfDrained(): void {
    if (this.#state !== "stopping" || this.runner.live > 0 || this.runner.waiting > 0) return;
    this.#state = "drained";
    this.#flush();
    this.#options.drained();
  }

  /** Something is to be sent: at once when nothing else goes on, else together with what comes next. */
  #touch(session: ExecutorSession): void {
    this.#touched.add(session);
    if (this.#flushScheduled) return;
    this.#flushScheduled = true;
    if (this.runner.live === 0 && this.#inbound.length <= 1) process.nextTick(this.#flushNow);
    else setImmediate(this.#flushNow);
  }

  #flush(): void {
    this.#flushScheduled = false;
    const { board } = this.#options;
    const pace = this.#pace.read(this.#endedSinceFlush);
    if (this.#endedSinceFlush > 0) board.taskEnded();
    this.#endedSinceFlush = 0;
    for (const session of this.#touched) {
      if (pace > 0) writePace(session.outbox.writer, pace);
      session.flush();
    }
    this.#touched.clear();
  }
}

/** A reason that cannot be read is none: what it is the reason of counts all the same. */
function readReason(
  session: ExecutorSession,
  frame: FrameReader,
  fields: { readonly reason: number; readonly needs: number },
): unknown {
  try {
    if (session.received.ready(frame.integers(fields.needs)) !== undefined || !frame.has(fields.reason))
      return undefined;
    return session.decoder.decode(frame.view(fields.reason));
  } catch {
    return undefined;
  }
}

function toGenerator(task: RunningTask | undefined, step: (run: GeneratorRun) => void): void {
  if (task === undefined) return;
  if (task.run !== undefined) step(task.run);
  else {
    task.early ??= [];
    task.early.push(step);
  }
}
