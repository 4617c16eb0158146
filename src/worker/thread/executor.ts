import { messageOf } from "../../checks/index.ts";
import { TaskCancelled } from "../../errors.ts";
import type { PeerIdentity } from "../../security/index.ts";
import {
  type CompleteLimits,
  FrameReader,
  LAST_REQUEST_FIELD,
  LimitExceeded,
  type MessageSink,
  type PayloadStore,
} from "../../wire/index.ts";
import type { ShareNotice, ThreadBoard, UnfinishedPayloads } from "../shared/index.ts";
import { ExecutorSession } from "./executor-session.ts";
import { PendingOutput } from "./pending-output.ts";
import { type MessageProgress, RequestHandler, type RequestHandlerOptions } from "./request-handler.ts";
import type { RunningTask } from "./running-task.ts";
import type { AdmissionHooks } from "./task-admission.ts";
import { TaskRunner, type TaskRunnerOptions } from "./task-runner.ts";
import { ThreadShares } from "./thread-shares.ts";
import {
  FairInbox,
  LaterTurns,
  Parties,
  SLICE_MS,
  TaskOccupancy,
  TaskParking,
  type TaskParkingOptions,
  TimeSlice,
} from "./turns/index.ts";

/** How long it takes until everybody has had a turn, as far as a turn can be cut short, in milliseconds. */
const ROUND_MS = 50;
/** As long as no more callers than these have something to do, each has a whole slice. */
const LONG_TURNS = ROUND_MS / SLICE_MS;
/** Tasks that are told so between two looks at the clock. */
const TASKS_PER_LOOK = 64;
/** Most readers that are kept for later messages. A new one for each message takes 6 % more processor time. */
const MOST_SPARE_READERS = 256;

/** How an executor is set up. */
export interface ExecutorOptions
  extends Pick<RequestHandlerOptions, "announcePool">,
    Pick<TaskRunnerOptions, "isSound"> {
  readonly uid: string;
  readonly board: ThreadBoard;
  /** The limit on tasks that run at once in the threads of the worker; undefined for no limit. */
  readonly concurrency: TaskParkingOptions | undefined;
  /** Called for a session that was told to finish, when everything for its caller has been sent. */
  readonly finished: (session: number) => void;
  /** Called for a session whose caller violated the protocol. */
  readonly malformed: (session: number, reason: string) => void;
  /** Called for a session whose caller exceeded a limit. */
  readonly exhausted: (session: number, reason: string) => void;
  /** Called when nothing more should be read from the caller of a session, and when reading may go on. */
  readonly hold: (session: number, isHeld: boolean) => void;
  /** Limits on what a caller may use. Default: the default limits. */
  readonly limits?: CompleteLimits;
  /** Watches incomplete payloads. Default: none. */
  readonly unfinished?: UnfinishedPayloads;
  /** Bytes of shared values that the process keeps. Default: no limit. */
  readonly shareBudget?: number;
  /** Sends a notice about a shared value to the gRPC thread. */
  readonly share?: (notice: ShareNotice) => void;
  /** Called when it has been told to stop and no task is left. */
  readonly drained: () => void;
}

/**
 * The sessions of one task thread: reads messages of callers, has their tasks run, and sends messages back. `running`:
 * takes tasks. `stopping`: no new tasks. `drained`: no task is left, and that was reported.
 */
export class Executor {
  /** Runs the tasks. */
  readonly runner: TaskRunner;
  /** The shared values of the thread. */
  readonly shares: ThreadShares;
  readonly #options: ExecutorOptions;
  readonly #requests: RequestHandler;
  readonly #sessions = new Map<number, ExecutorSession>();
  readonly #inbox: FairInbox<ExecutorSession>;
  readonly #readers: FrameReader[] = [];
  readonly #output: PendingOutput;
  /** After `stop`: messages that came before and have not been read completely. */
  readonly #last = new Set<FrameReader>();
  /** Sessions whose callers send nothing more. */
  readonly #finishing = new Set<ExecutorSession>();
  #state: "running" | "stopping" | "drained" = "running";
  #workScheduled = false;
  readonly #slice = new TimeSlice();
  readonly #later = new LaterTurns(this.#slice);
  readonly #parties = new Parties();
  readonly #workNow = (): void => this.#work();
  readonly #goOnSoon = (): void => process.nextTick(this.#goOnNow);
  readonly #goOnNow = (): void => this.#goOn();

  constructor(options: ExecutorOptions) {
    this.#options = options;
    const { concurrency } = options;
    this.shares = new ThreadShares({
      budget: options.shareBudget ?? Number.POSITIVE_INFINITY,
      tell: (notice) => options.share?.(notice),
      dropped: () => {
        for (const session of this.#sessions.values()) session.forgetFunctions();
      },
    });
    this.#inbox = new FairInbox((session, isHeld) => options.hold(session.number, isHeld));
    this.#output = new PendingOutput({
      board: options.board,
      isQuiet: () => this.runner.live === 0 && this.#inbox.size <= 1,
      sent: () => {
        for (const session of this.#finishing) this.#reportIfFinished(session);
      },
    });
    this.runner = new TaskRunner({
      parking: concurrency === undefined ? undefined : new TaskParking(concurrency),
      slice: this.#slice,
      later: this.#later,
      touched: (session) => this.#output.add(session),
      occupancy: new TaskOccupancy(options.board),
      ...(options.isSound === undefined ? {} : { isSound: options.isSound }),
      ended: () => {
        this.#output.taskEnded();
        this.#reportIfDrained();
      },
      rested: (session) => this.#reportIfFinished(session),
    });
    this.#requests = new RequestHandler({
      worker: options.uid,
      runner: this.runner,
      announcePool: options.announcePool,
      touched: (session) => this.#output.add(session),
      dismissed: () => this.#reportIfDrained(),
    });
  }

  /** Has hooks decide which tasks are taken from now on. */
  askFirst(hooks: AdmissionHooks): void {
    this.#requests.askFirst(hooks);
  }

  /** The thread was idle for so many milliseconds, and polled for messages. */
  polled(ms: number): void {
    this.#output.polled(ms);
  }

  /** Nothing happens until a caller sends something: no task has anything to do, and nothing waits to be sent. */
  get isIdle(): boolean {
    return this.runner.busy === 0 && this.#output.isEmpty && this.#inbox.size === 0;
  }

  /**
   * A caller opened a session. `store`: shared with the caller, for large payloads. `peer`: who the caller proved to be.
   * `oneKind`: it wants messages with frames of one kind each. `taken`: counts messages that were begun to be read. `party`:
   * sessions with the same share their turns.
   */
  open(
    session: number,
    callerId: string,
    store: PayloadStore | undefined,
    sink: MessageSink,
    peer?: PeerIdentity,
    oneKind = false,
    taken?: Float64Array,
    party = `session ${session}`,
  ): void {
    const send = (message: Buffer): boolean => {
      const isWritable = sink.send(message);
      if (this.#finishing.size > 0) this.#reportIfFinished(opened);
      if (this.#state === "stopping") this.#reportIfDrained();
      return isWritable;
    };
    const opened: ExecutorSession = new ExecutorSession({
      number: session,
      callerId,
      store,
      sink: { send },
      peer,
      party: this.#parties.join(party),
      oneKind,
      ...(taken === undefined ? {} : { taken }),
      limits: this.#options.limits,
      unfinished: this.#options.unfinished?.of({
        isBehind: () => opened.inbox.messages.length > 0,
        expel: (reason) => this.#expel(opened, reason),
      }),
      shares: this.shares,
      touched: (session) => this.#output.add(session),
      relieved: () => this.#relieved(opened),
      stalled: () => this.#stalled(opened),
    });
    this.#sessions.set(session, opened);
  }

  /** The caller is gone: its tasks are told so. */
  close(session: number): void {
    const closed = this.#sessions.get(session);
    if (closed === undefined) return;
    this.#sessions.delete(session);
    this.#finishing.delete(closed);
    for (const message of closed.inbox.messages) this.#last.delete(message);
    this.#inbox.drop(closed);
    closed.close();
    this.#parties.leave(closed.party);
    this.#abandon(closed, closed.tasks.list(), new TaskCancelled("the caller is gone"));
    for (const pool of closed.pools.values()) pool.release();
    this.#reportIfDrained();
  }

  /** Tells tasks that nobody waits for them. There may be very many: others have their turns meanwhile. */
  #abandon(session: ExecutorSession, tasks: readonly RunningTask[], reason: TaskCancelled): void {
    for (const [index, task] of tasks.entries()) {
      if (index % TASKS_PER_LOOK === TASKS_PER_LOOK - 1 && this.#slice.isOver) {
        this.#later.wait(session, () => {
          this.#abandon(session, tasks.slice(index), reason);
          this.#reportIfDrained();
        });
        return;
      }
      // The task may have ended by itself meanwhile.
      if (task.wireId >= 0) this.runner.abandon(task, reason);
    }
  }

  /** Ends a session whose caller took more than it may. */
  expel(session: number, reason: string): void {
    const expelled = this.#sessions.get(session);
    if (expelled !== undefined) this.#expel(expelled, reason);
  }

  /** The caller sends nothing more: `finished` is called when everything that it asked for has been sent. */
  finish(session: number): void {
    const finishing = this.#sessions.get(session);
    if (finishing === undefined) return;
    this.#finishing.add(finishing);
    this.#reportIfFinished(finishing);
  }

  /** Messages of a session have gone out: this many bytes. */
  sent(session: number, bytes: number): void {
    const target = this.#sessions.get(session);
    if (target?.unread.took(bytes) === true) target.outbox.drained();
  }

  /** Takes a message of a session. */
  receive(session: number, buffer: Buffer, start: number, end: number): void {
    const target = this.#sessions.get(session);
    if (target === undefined) return;
    const reader = this.#readers.pop() ?? new FrameReader(LAST_REQUEST_FIELD);
    this.#inbox.add(target, reader.open(buffer, start, end));
    if (this.#workScheduled) return;
    // Very many messages can arrive in one turn of the event loop.
    if (!this.#slice.isOver) this.#workOff();
    else this.#schedule();
  }

  /** Takes no new tasks from now on, except those that have arrived. */
  stop(): void {
    this.#state = "stopping";
    for (const { inbox } of this.#sessions.values()) for (const message of inbox.messages) this.#last.add(message);
    this.#requests.stop(this.#last);
    this.#reportIfDrained();
  }

  /** Cancels every task. Tasks in messages that have not been read are refused. */
  cancelAll(): void {
    this.#requests.stop(new Set());
    for (const session of this.#sessions.values()) {
      for (const task of session.tasks.list()) {
        this.runner.dismiss(task, new TaskCancelled(`${task.name} was cancelled: its worker is stopping`));
      }
    }
    this.#output.flush();
    this.#reportIfDrained();
  }

  /** Reads messages for one time slice, then lets the event loop turn. */
  #work(): void {
    this.#workScheduled = false;
    // Tasks may have run since it was scheduled.
    if (this.#options.isSound?.() === false) return;
    this.#slice.begin();
    this.#workOff();
  }

  #workOff(): void {
    for (let session = this.#inbox.current; session !== undefined; session = this.#inbox.current) {
      const [message] = session.inbox.messages;
      if (message === undefined || session.unread.isCongested) {
        this.#inbox.suspend();
        continue;
      }
      session.begin(message);
      const progress = this.#readSafely(session, message);
      if (progress !== "whole") {
        this.#inbox.yieldTurn();
        if (progress === "part") {
          this.#goOnAfterResults();
          return;
        }
        if (!this.#slice.isOver) continue;
        this.#schedule();
        return;
      }
      if (this.#last.delete(message)) this.#reportIfDrained();
      // The message is gone if its session was closed meanwhile.
      if (this.#inbox.current === session && session.inbox.messages[0] === message) this.#inbox.done();
      session.done();
      if (this.#readers.length < MOST_SPARE_READERS) this.#readers.push(message);
      if (this.#finishing.size > 0) this.#reportIfFinished(session);
    }
  }

  /** Goes on when the tasks that have begun have done what they can without waiting, after their results. */
  #goOnAfterResults(): void {
    this.#workScheduled = true;
    queueMicrotask(this.#goOnSoon);
  }

  #goOn(): void {
    this.#workScheduled = false;
    if (this.#options.isSound?.() === false) return;
    this.#output.send();
    if (this.#slice.isOver) this.#schedule();
    else this.#workOff();
  }

  /** Until when the session whose turn it is may work: where many callers have something to do, each has a short turn. */
  #turnEnd(): number {
    const { parties } = this.#inbox;
    const { end } = this.#slice;
    return parties <= LONG_TURNS ? end : Math.min(end, performance.now() + ROUND_MS / parties);
  }

  #schedule(): void {
    if (this.#workScheduled) return;
    this.#workScheduled = true;
    setImmediate(this.#workNow);
  }

  /** A caller has read enough for its tasks to be started again. */
  #relieved(session: ExecutorSession): void {
    this.#inbox.wake(session);
    this.#schedule();
  }

  #stalled(session: ExecutorSession): void {
    const { maxUnreadBytes, stallTimeout } = session.limits;
    const reason = `nothing was read for ${stallTimeout} ms while more than ${maxUnreadBytes} bytes waited to be read`;
    this.#expel(session, `${reason} (limits.maxUnreadBytes, limits.stallTimeout)`);
  }

  /** Ends the session of a caller that exceeded a limit. */
  #expel(session: ExecutorSession, reason: string): void {
    this.#options.exhausted(session.number, reason);
    this.close(session.number);
  }

  /** A caller that violates the protocol or exceeds a limit loses its session. Other callers are not affected. */
  #readSafely(session: ExecutorSession, message: FrameReader): MessageProgress {
    try {
      return this.#requests.handle(session, message, this.#turnEnd(), !this.#output.isCrowded);
    } catch (error) {
      const reason = messageOf(error);
      if (error instanceof LimitExceeded) this.#options.exhausted(session.number, reason);
      else this.#options.malformed(session.number, reason);
      this.close(session.number);
      return "whole";
    }
  }

  /**
   * Call this wherever the last task may have ended, also a task that waited and was never run, and wherever the last
   * piece of a result may have been sent. A caller that does not get the whole result would assume that the task was
   * not run.
   */
  #reportIfDrained(): void {
    if (this.#state !== "stopping" || this.runner.live + this.runner.waiting + this.#last.size > 0) return;
    for (const { outbox } of this.#sessions.values()) if (outbox.hasPayloads) return;
    this.#state = "drained";
    this.#output.flush();
    this.#options.drained();
  }

  /**
   * Call this wherever a session may have sent its last message: after messages were read or sent. Generators that wait
   * for the next request count as finished, because it will not come.
   */
  #reportIfFinished(session: ExecutorSession): void {
    if (!this.#finishing.has(session) || this.#output.has(session) || !session.outbox.isEmpty) return;
    if (session.inbox.messages.length > 0) return;
    if (!session.tasks.every(({ run }) => run !== undefined && !run.isStepping)) return;
    this.#finishing.delete(session);
    this.#options.finished(session.number);
  }
}
