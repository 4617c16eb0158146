import { TaskCancelled } from "../../errors.ts";
import { StatusCode } from "../../grpc/index.ts";
import { serializerOfThrown } from "../../values/index.ts";
import {
  AbortField,
  ARGUMENT_FIELDS,
  CancelField,
  CreditField,
  DependencyField,
  DROPPED_NUMBER,
  type FrameReader,
  LimitExceeded,
  MalformedFrame,
  Payload,
  RequestField,
  StepField,
  StepKind,
  TaskField,
} from "../../wire/index.ts";
import type { ExecutorSession } from "./executor-session.ts";
import type { AnnouncedPool, SessionPool } from "./proxy-cache.ts";
import { ReadyTask } from "./ready-task.ts";
import { EarlySteps, type GeneratorRun } from "./routines/index.ts";
import { RunningTask } from "./running-task.ts";
import { type AdmissionHooks, TaskAdmission } from "./task-admission.ts";
import type { TaskRunner } from "./task-runner.ts";

/**
 * Most frames that are handled between two looks at the clock. A look costs 0.1 to 0.2 us, a tenth of a trivial task.
 * After `QUICK_LOOKS` looks the stride grows, as long as the frames between two looks take less than `QUICK_MS`
 * milliseconds together.
 */
const LONGEST_STRIDE = 16;
const QUICK_LOOKS = 4;
const QUICK_MS = 0.05;

/**
 * Frames of a message that are handled before the results so far go out: a quarter of the message, but at least
 * `SHORT_PART` and at most `LONG_PART`. The caller reads those results while the thread goes on, instead of each waiting for the
 * other: on two cores, 100 trivial calls in flight do 515,000 instead of 370,000 calls/s. Each message costs 10 us: parts of
 * at least 64 do 425,000, of 16 475,000.
 */
const SHORT_PART = 32;
const LONG_PART = 128;
/**
 * Calls of a pack that count as a frame there, if others want the core. Packs go in parts even then: a message with the results
 * of 512 calls costs 2 % of what those do. (200,000 trivial items: 1.13x as many per second, with 3 threads on two cores.) If
 * nobody wants the core, each call counts: with 100 in flight 1.7x as many calls/s
 * (medians of three runs each, one after the other).
 */
const CALLS_PER_FRAME = 4;

/** Most bytes of an integer in a list. */
const MOST_INTEGER_BYTES = 10;

/** Bytes of the names that a task comes with, of its caller and its key, that do not count as waiting. */
const FREE_NAME_BYTES = 256;

/** How far a message has been read: to its end, to the end of a part whose results should go out, or as far as the time allowed. */
export type MessageProgress = "whole" | "part" | "late";

/** How a request handler is set up. */
export interface RequestHandlerOptions {
  /** Uid of the worker. */
  readonly worker: string;
  readonly runner: TaskRunner;
  /**
   * Finds the pool that a session announces. `known`: what it was under the same number before. Throws for an invalid
   * announcement.
   */
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
  /** After `stop`: the messages that arrived before. */
  #last: ReadonlySet<FrameReader> | undefined;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
  }

  /** Has hooks decide which tasks are taken from now on. */
  askFirst(hooks: AdmissionHooks): void {
    this.#admission = new TaskAdmission(hooks, {
      runner: this.#options.runner,
      refuse: (session, id, status, message) => this.#reject(session, id, status, message),
    });
  }

  /** Refuses new tasks from now on, except those in `last`: messages that arrived before and are not read yet. */
  stop(last: ReadonlySet<FrameReader>): void {
    this.#last = last;
    this.#admission?.stop();
  }

  /**
   * Reads a message of a session from the position of its reader. Throws when it violates the protocol, and
   * `LimitExceeded` when the caller exceeds a limit.
   *
   * @param until - when to take a break after a frame, on the clock of `performance.now`
   * @param inParts - whether to stop where the results so far should go out
   */
  handle(session: ExecutorSession, reader: FrameReader, until: number, inParts = false): MessageProgress {
    const bytes = reader.remaining;
    let frames = 0;
    let stride = 1;
    let unclocked = 0;
    let last = 0;
    let quick = 0;
    for (let kind = reader.next(); kind !== 0; kind = reader.next()) {
      this.#handleFrame(session, reader, kind);
      const items = kind === RequestField.task ? reader.count(TaskField.items) : 0;
      frames += Math.max(1, inParts ? items : items / CALLS_PER_FRAME);
      if (frames >= SHORT_PART && (inParts || items > 0) && isPart(frames, bytes, reader.remaining)) return "part";
      if (++unclocked < stride) continue;
      const now = performance.now();
      if (now > until) {
        this.#options.touched(session);
        return "late";
      }
      quick = now - last < QUICK_MS ? quick + 1 : 0;
      stride = Math.max(1, Math.min(LONGEST_STRIDE, 2 ** (quick - QUICK_LOOKS)));
      last = now;
      unclocked = 0;
    }
    return "whole";
  }

  #handleFrame(session: ExecutorSession, reader: FrameReader, kind: number): void {
    switch (kind) {
      case RequestField.hello:
        throw new MalformedFrame("a hello is allowed only in the first message of a session");
      case RequestField.task:
        return this.#task(session, reader);
      case RequestField.credit:
        return this.#credit(session, reader);
      case RequestField.step:
        return this.#step(session, reader);
      case RequestField.cancel:
        return this.#cancel(session, reader);
      case RequestField.abort:
        return this.#abort(session, reader);
      case RequestField.chunk:
        return session.payloads.addChunk(reader);
      case RequestField.route:
        return session.addRoute(reader);
      case RequestField.dependency:
        session.announce(1, reader.end(DependencyField.data) - reader.start(DependencyField.data));
        return session.received.add(reader);
      case RequestField.pool:
        return session.addPool(reader, this.#options.announcePool);
      case RequestField.shared:
        return session.takeShared(reader);
      case RequestField.dropped:
        return session.dropShared(reader.integer(DROPPED_NUMBER));
    }
  }

  #task(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(TaskField.id);
    const routine = session.routes.get(frame.integer(TaskField.route));
    if (this.#last !== undefined && (this.#admission !== undefined || !this.#last.has(frame)))
      return this.#reject(session, id, StatusCode.UNAVAILABLE, "the worker is stopping");
    if (routine === undefined)
      return this.#reject(session, id, StatusCode.INTERNAL, "the task names an unknown routine");
    if (routine.refusal !== undefined) return this.#reject(session, id, StatusCode.UNIMPLEMENTED, routine.refusal);
    if (session.tasks.get(id) !== undefined) {
      return this.#reject(session, id, StatusCode.INTERNAL, `task ${id} is already running`);
    }
    const isPack = frame.has(TaskField.items);
    if (isPack && (this.#admission !== undefined || !this.#options.runner.takesPacks || !routine.takesPacks)) {
      return this.#reject(session, id, StatusCode.INTERNAL, `${routine.name} cannot be called in packs here`);
    }
    const { maxLiveTasks } = session.limits;
    // Each call of a pack is a byte at least: a list that is too long is not read.
    const most = isPack ? (frame.end(TaskField.items) - frame.start(TaskField.items)) / MOST_INTEGER_BYTES : 1;
    const items = isPack && most <= maxLiveTasks ? frame.integers(TaskField.items) : undefined;
    if (session.tasks.size >= maxLiveTasks || session.live + (items?.length ?? most) > maxLiveTasks) {
      throw new LimitExceeded("maxLiveTasks", maxLiveTasks, "tasks that have not ended");
    }
    const args = session.payloads.take(frame, id, ARGUMENT_FIELDS, Payload.EMPTY);
    if (items !== undefined) checkPack(items, args);
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
    if (session.hasEarlyAborts) {
      for (const aborted of session.takeEarlyAborts(id)) task.abortSignal(aborted);
    }
    const names = task.nameBytes;
    if (names > FREE_NAME_BYTES) task.wait(names);
    const ready = new ReadyTask(task, {
      args,
      pool: session.pools.get(frame.integer(TaskField.pool)),
      context: frame.has(TaskField.context) ? frame.view(TaskField.context) : undefined,
      needs: session.received.needs(frame, TaskField.needs),
      timeout,
      items,
    });
    if (this.#admission === undefined) this.#options.runner.take(ready);
    else this.#admission.ask(ready);
  }

  #step(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(StepField.id);
    const kind = stepKind(frame.integer(StepField.kind));
    const after = frame.integer(StepField.after);
    const sent = session.payloads.take(frame, id, StepField);
    const needs = session.received.needs(frame, StepField.needs);
    const task = session.tasks.get(id);
    if (task === undefined) return sent.drop();
    const { maxCredit } = session.limits;
    if (after - (task.run?.plain ?? 0) > maxCredit) throw tooMuchCredit(maxCredit);
    const bytes = sent.memoryBytes;
    if (bytes > 0) task.wait(bytes);
    const taken = bytes === 0 ? undefined : (): void => task.waited(bytes);
    const value = task.run === undefined || needs.length > 0 ? sent.detached() : sent;
    toGenerator(task, (run) => {
      const loading = session.received.ready(needs);
      const advance = (): void => {
        let read: unknown;
        try {
          const serializer = task.routine.serializer();
          read = value.read(session.decoder, kind === StepKind.throw ? serializerOfThrown(serializer) : serializer);
        } catch (error) {
          value.drop();
          run.step(StepKind.throw, error, after, taken);
          return;
        }
        run.step(kind, read, after, taken);
      };
      if (loading === undefined) advance();
      // Keeps the loaded dependencies alive until they are used.
      else
        loading.then(
          (held) => [advance(), held],
          (error: unknown) => run.step(StepKind.throw, error, after, taken),
        );
    });
  }

  /** Allows a generator more plain steps, at once or when the generator has been made. */
  #credit(session: ExecutorSession, frame: FrameReader): void {
    const task = session.tasks.get(frame.integer(CreditField.id));
    if (task === undefined) return;
    const steps = frame.integer(CreditField.steps);
    let allowed: number;
    if (task.run === undefined) {
      task.early ??= new EarlySteps();
      const before = task.early.size;
      allowed = task.early.addCredit(steps);
      if (task.early.size > before) session.addEarlyFrame();
    } else {
      task.run.credit(steps);
      allowed = task.run.allowed;
    }
    const { maxCredit } = session.limits;
    if (allowed > maxCredit) throw tooMuchCredit(maxCredit);
  }

  #cancel(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(CancelField.id);
    session.payloads.dropChunks(id);
    const task = session.tasks.get(id);
    if (task === undefined) return;
    // A task that was not started never sees the reason, and maybe was not admitted: nothing from its caller is
    // decoded.
    const reason = task.state === "parked" ? undefined : readReason(session, frame, CancelField)();
    this.#options.runner.dismiss(task, reason ?? new TaskCancelled(`${task.name} was cancelled`));
    this.#options.dismissed();
  }

  #abort(session: ExecutorSession, frame: FrameReader): void {
    const id = frame.integer(AbortField.id);
    const aborted = { number: frame.integer(AbortField.signal), reason: readReason(session, frame, AbortField) };
    if (frame.integer(AbortField.early) === 0) session.tasks.get(id)?.abortSignal(aborted);
    else session.addEarlyAbort(id, aborted);
  }

  /** Refuses a task before its arguments are used: arguments in the store still belong to the caller. */
  #reject(session: ExecutorSession, id: number, status: number, message: string): void {
    session.payloads.dropChunks(id);
    session.takeEarlyAborts(id);
    session.reject(id, status, message);
    this.#options.touched(session);
  }
}

/**
 * Returns a function that reads a reason. A reason that cannot be read is left out: the cancellation or abort counts
 * without it.
 */
function readReason(
  session: ExecutorSession,
  frame: FrameReader,
  fields: { readonly reason: number; readonly needs: number },
): () => unknown {
  if (!frame.has(fields.reason)) return () => undefined;
  const encoded = Buffer.from(frame.view(fields.reason));
  const needs = session.received.needs(frame, fields.needs);
  return () => {
    try {
      return session.received.ready(needs) === undefined ? session.decoder.decode(encoded) : undefined;
    } catch {
      return undefined;
    }
  };
}

function checkPack(items: readonly number[], args: Payload): void {
  let bytes = 0;
  for (const length of items) bytes += length;
  if (items.length === 0 || bytes !== args.length)
    throw new MalformedFrame("the arguments of a pack do not fit its calls");
}

function stepKind(kind: number): StepKind {
  if (kind === StepKind.next || kind === StepKind.throw || kind === StepKind.return) return kind;
  throw new MalformedFrame(`there is no kind of step ${kind}`);
}

function tooMuchCredit(limit: number): LimitExceeded {
  return new LimitExceeded("maxCredit", limit, "steps of a generator in advance");
}

function toGenerator(task: RunningTask, step: (run: GeneratorRun) => void): void {
  const { session, run } = task;
  if (run === undefined) {
    session.addEarlyFrame();
    task.early ??= new EarlySteps();
    task.early.add(step);
    return;
  }
  const { maxEarlyFrames } = session.limits;
  if (run.queued >= maxEarlyFrames) {
    throw new LimitExceeded("maxEarlyFrames", maxEarlyFrames, "steps that wait for a generator");
  }
  step(run);
}

/** Whether a part of a message ends after so many frames. `bytes`: of all of them and the rest of the message, which has `left`. */
function isPart(frames: number, bytes: number, left: number): boolean {
  if (left === 0) return false;
  return frames >= LONG_PART || left * 4 <= bytes * 3;
}
