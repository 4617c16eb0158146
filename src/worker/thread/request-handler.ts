import { TaskCancelled } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import {
  AbortField,
  ARGUMENT_FIELDS,
  CancelField,
  CreditField,
  type FrameReader,
  MalformedFrame,
  Payload,
  PoolReferenceField,
  RequestField,
  RouteField,
  StepField,
  StepKind,
  TaskField,
} from "../../wire/index.ts";
import type { AnnouncedPool, ExecutorSession, SessionPool } from "./executor-session.ts";
import type { GeneratorRun } from "./generator-run.ts";
import { RemoteRoutine } from "./remote-routine.ts";
import { RunningTask } from "./running-task.ts";
import { type AdmissionHooks, TaskAdmission } from "./task-admission.ts";
import type { ReadyTask, TaskRunner } from "./task-runner.ts";

/** How a request handler is set up. */
export interface RequestHandlerOptions {
  /** Uid of the worker. */
  readonly worker: string;
  readonly runner: TaskRunner;
  /** The way to a pool that a session announces; `known` is what it was under the same number before. Throws for nonsense. */
  readonly announcePool: (pool: AnnouncedPool, known: SessionPool | undefined) => SessionPool;
  /** There is something to send in a session. */
  readonly touched: (session: ExecutorSession) => void;
  /** A task was cancelled. It may have been the last one. */
  readonly dismissed: () => void;
}

/** Does what callers ask for: reads the frames of their messages, and has tasks run, advanced and cancelled. */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  #admission: TaskAdmission | undefined;
  #takesTasks = true;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Has hooks decide which of the tasks that arrive from now on are taken. */
  askFirst(hooks: AdmissionHooks): void {
    this.#admission = new TaskAdmission(hooks, {
      runner: this.#options.runner,
      refuse: (session, id, status, message) => this.#reject(session, id, status, message),
    });
  }

  /** Refuses new tasks from now on. */
  stop(): void {
    this.#takesTasks = false;
    this.#admission?.stop();
  }

  /**
   * Reads a message of a session from where its reader stands. Throws when it is not what the protocol says.
   *
   * @param until - when to take a break after a task, on the clock of `performance.now`
   * @returns whether the message has been read to its end
   */
  handle(session: ExecutorSession, reader: FrameReader, until: number): boolean {
    for (let kind = reader.next(); kind !== 0; kind = reader.next()) {
      switch (kind) {
        case RequestField.hello:
          throw new MalformedFrame("a hello is allowed in the first message of a session only");
        case RequestField.task:
          this.#task(session, reader);
          if (performance.now() > until) {
            this.#options.touched(session);
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
          this.#announcePool(session, reader);
          break;
      }
    }
    return true;
  }

  #announcePool(session: ExecutorSession, frame: FrameReader): void {
    const number = frame.integer(PoolReferenceField.number);
    const encoded = frame.has(PoolReferenceField.balancer)
      ? Uint8Array.from(frame.view(PoolReferenceField.balancer))
      : undefined;
    const loading = session.received.ready(frame.integers(PoolReferenceField.needs));
    // Whoever uses the balancer is told that its code could not be loaded.
    loading?.catch(() => undefined);
    const balancer =
      encoded === undefined
        ? undefined
        : async (): Promise<unknown> => {
            await loading;
            return session.decoder.decode(encoded);
          };
    const description = frame.view(PoolReferenceField.description);
    session.pools.set(number, this.#options.announcePool({ description, balancer }, session.pools.get(number)));
  }

  #task(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(TaskField.id);
    const routine = session.routes.get(frame.integer(TaskField.route));
    if (!this.#takesTasks) return this.#reject(session, id, StatusCode.UNAVAILABLE, "the worker is stopping");
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
      this.#options.worker,
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
    if (this.#admission === undefined) this.#options.runner.take(ready);
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
    this.#options.runner.dismiss(task, reason ?? new TaskCancelled(`${task.name} was cancelled`));
    this.#options.dismissed();
  }

  #abort(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(AbortField.id);
    const aborted = { number: frame.integer(AbortField.signal), reason: readReason(session, frame, AbortField) };
    if (frame.integer(AbortField.early) === 0) session.tasks.get(id)?.abortSignal(aborted);
    else session.earlyAborts.set(id, [...(session.earlyAborts.get(id) ?? []), aborted]);
  }

  /** Refuses a task before its arguments are used: arguments in the store remain the caller's. */
  #reject(session: ExecutorSession, id: number, status: number, message: string): void {
    session.payloads.dropChunks(id);
    session.earlyAborts.delete(id);
    session.reject(id, status, message);
    this.#options.touched(session);
  }
}

/** A reason that cannot be read is left out: the cancellation or abort counts without it. */
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
