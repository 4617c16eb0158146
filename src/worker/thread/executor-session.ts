import { acceptDependency } from "../../functions/index.ts";
import { PREFIX_BYTES, StatusCode } from "../../grpc/index.ts";
import type { PeerIdentity } from "../../security/index.ts";
import { functionPort, type Serializer, ValueDecoder, ValueEncoder, type WeakCollection } from "../../values/index.ts";
import {
  type CompleteLimits,
  DEFAULT_LIMITS,
  type FrameReader,
  IncomingPayloads,
  LimitExceeded,
  type MessageSink,
  Outbox,
  type OutcomeFrame,
  type PayloadStore,
  PoolReferenceField,
  ReceivedDependencies,
  ResponseField,
  RouteField,
  SHARED_CHUNKS,
  SharedField,
  type UnfinishedWatch,
  writeAccepted,
  writeRejected,
  writeWanted,
} from "../../wire/index.ts";
import { SESSION_PREFIX_BYTES } from "../shared/index.ts";
import { OutcomeSender } from "./outcomes/index.ts";
import type { AnnouncedPool, SessionPool } from "./proxy-cache.ts";
import { RemoteRoutine } from "./routines/index.ts";
import type { AbortedSignal, RunningTask } from "./running-task.ts";
import { TaskTable } from "./task-table.ts";
import { isShare, type ShareSession, type ThreadShares } from "./thread-shares.ts";
import { type Party, SessionInbox, type TurnTaker } from "./turns/index.ts";
import { UnreadOutput } from "./unread-output.ts";

/** How a session is made. */
export interface ExecutorSessionOptions {
  readonly number: number;
  readonly callerId: string;
  /** Shared with the caller; undefined when it shares none. */
  readonly store: PayloadStore | undefined;
  readonly sink: MessageSink;
  /** The identity that the caller proved. */
  readonly peer?: PeerIdentity | undefined;
  /** Whose turns the session takes. */
  readonly party: Party;
  /** The caller wants messages with frames of one kind each. */
  readonly oneKind?: boolean;
  /** Counts the messages that the thread began to read. The gRPC thread can read it after this thread has ended. */
  readonly taken?: Float64Array;
  readonly limits?: CompleteLimits | undefined;
  /** Told of incomplete payloads. */
  readonly unfinished?: UnfinishedWatch | undefined;
  /** The shared values of the thread. */
  readonly shares: ThreadShares;
  /** There is something to send. */
  readonly touched: (session: ExecutorSession) => void;
  /** The caller has read enough for more of its tasks to be started. */
  readonly relieved: (session: ExecutorSession) => void;
  /** The caller has read nothing for too long. */
  readonly stalled: (session: ExecutorSession) => void;
}

/** A caller's session in a task thread: what it has announced, its tasks, and the way back to it. */
export class ExecutorSession implements ShareSession, TurnTaker {
  /** Names the session within its worker; from 1. */
  readonly number: number;
  readonly callerId: string;
  /** The identity that the caller proved with a certificate. */
  readonly peer: PeerIdentity | undefined;
  readonly party: Party;
  readonly routes = new Map<number, RemoteRoutine>();
  /** The pools that tasks come from, by number. */
  readonly pools = new Map<number, SessionPool>();
  /** How many bytes each pool counts for, and how many of them belong to its balancer. */
  readonly #poolBytes = new Map<number, { readonly all: number; readonly balancer: number }>();
  readonly tasks = new TaskTable();
  /** Tasks that have been started and have not ended, including those that the session does not track any more. */
  live = 0;
  /** Arguments and values for generators, wherever they arrive. */
  readonly payloads: IncomingPayloads;
  /** Messages that came and are not finished. */
  readonly inbox = new SessionInbox();
  /** Output that the caller has not read. */
  readonly unread: UnreadOutput;
  /** Limits on what the caller may use in this thread. */
  readonly limits: CompleteLimits;
  /** Signals that were aborted before the task came that has them among its arguments, by task id. */
  readonly #earlyAborts = new Map<number, AbortedSignal[]>();
  /** How many early aborts there are, plus the steps for generators that do not exist yet. */
  #earlyFrames = 0;
  readonly decoder = new ValueDecoder(functionPort({ isCall: true }));
  /** For the code of routines, with what it captured. */
  readonly #codeDecoder = new ValueDecoder(functionPort({ isCall: true, isCaptured: true }));
  readonly #outcomes: OutcomeSender;
  readonly received: ReceivedDependencies;
  readonly #shares: ThreadShares;
  readonly outbox: Outbox;
  readonly #touched: () => void;
  readonly #taken: Float64Array;
  #reading: FrameReader | undefined;
  /** Bytes that came for its tasks and are not used yet. */
  #waitingBytes = 0;
  #announcements = 0;
  #announcedBytes = 0;
  /** Tasks started since the last message. The caller is told of those that still run when the next one goes out. */
  #unaccepted: RunningTask[] = [];

  constructor(options: ExecutorSessionOptions) {
    const { number, callerId, store, sink, peer, oneKind = false, limits = DEFAULT_LIMITS } = options;
    this.number = number;
    this.#taken = options.taken ?? new Float64Array(1);
    this.peer = peer;
    this.party = options.party;
    this.callerId = callerId;
    this.#touched = () => options.touched(this);
    this.limits = limits;
    this.payloads = new IncomingPayloads(limits, options.unfinished);
    this.unread = new UnreadOutput({
      maxUnreadBytes: limits.maxUnreadBytes,
      stallTimeout: limits.stallTimeout,
      queuedBytes: () => this.outbox.queuedBytes,
      relieved: () => options.relieved(this),
      stalled: () => options.stalled(this),
    });
    this.#shares = options.shares;
    this.received = new ReceivedDependencies(
      (dependency) => acceptDependency(dependency),
      limits,
      (dependency, named) => (isShare(dependency) ? this.#shares.announce(this, named, dependency) : undefined),
    );
    // Functions and classes that came from the caller go back by name. So do shared values.
    const holds = (hash: string): boolean => this.received.hasValue(hash);
    const send = (message: Buffer): boolean => {
      const isWritable = this.unread.sent(message.length);
      return sink.send(message) && isWritable;
    };
    this.outbox = new Outbox({ send }, SESSION_PREFIX_BYTES + PREFIX_BYTES, ResponseField.chunk);
    this.outbox.store = store;
    this.outbox.oneKind = oneKind;
    this.#outcomes = new OutcomeSender(this.outbox, new ValueEncoder(functionPort({ destination: callerId, holds })));
    this.payloads.store = store;
  }

  /** Reading a message begins or continues: from now on some of its tasks may have been run. */
  begin(message: FrameReader): void {
    if (this.#reading === message) return;
    this.#reading = message;
    this.#taken[0] = (this.#taken[0] ?? 0) + 1;
  }

  /** The message has been read. */
  done(): void {
    this.#reading = undefined;
  }

  /** Takes the route frame at the position of the reader. */
  addRoute(frame: FrameReader): void {
    const number = frame.integer(RouteField.number);
    this.#dropRoute(frame.integer(RouteField.replaces));
    this.#dropRoute(number);
    const routine = new RemoteRoutine(frame, this.#codeDecoder, this.received);
    this.announce(1, routine.bytes);
    this.routes.set(number, routine);
  }

  /** Takes the pool frame at the position of the reader. `open` finds the pool, or throws for an invalid frame. */
  addPool(frame: FrameReader, open: (pool: AnnouncedPool, known: SessionPool | undefined) => SessionPool): void {
    const number = frame.integer(PoolReferenceField.number);
    const known = this.pools.get(number);
    const description = frame.view(PoolReferenceField.description);
    const encoded = frame.has(PoolReferenceField.balancer)
      ? Uint8Array.from(frame.view(PoolReferenceField.balancer))
      : undefined;
    const needs = this.received.needs(frame, PoolReferenceField.needs);
    const balancer =
      encoded === undefined
        ? undefined
        : async (): Promise<unknown> => {
            await this.received.ready(needs);
            return this.decoder.decode(encoded);
          };
    const pool = open({ announcer: this.peer?.fingerprint, description, balancer }, known);
    this.pools.set(number, pool);
    // If a pool changes often, only what is kept of it counts.
    const before = this.#poolBytes.get(number) ?? { all: 0, balancer: encoded?.length ?? 0 };
    const all = pool.size + before.balancer;
    this.#poolBytes.set(number, { all, balancer: before.balancer });
    this.announce(known === undefined ? 1 : 0, all - before.all);
  }

  wantShared(number: number, withoutFile: boolean): void {
    writeWanted(this.outbox.writer, number, withoutFile);
    this.#touched();
  }

  /** Takes the shared-value frame at the position of the reader. Throws for an invalid frame. */
  takeShared(frame: FrameReader): void {
    const number = frame.integer(SharedField.number);
    const announced = this.received.valueOf(number);
    if (frame.integer(SharedField.missing) === 1) {
      this.#shares.answer(announced, "missing");
    } else if (frame.has(SharedField.file) && this.payloads.store !== undefined) {
      const [file, length] = [frame.text(SharedField.file), frame.integer(SharedField.chunked)];
      this.#shares.answer(announced, { file, length, store: this.payloads.store });
    } else {
      const payload = this.payloads.take(frame, SHARED_CHUNKS + number, SharedField);
      this.#shares.answer(announced, { payload });
    }
  }

  /** The caller does not have a shared value any more. */
  dropShared(number: number): void {
    const announced = this.received.valueOf(number);
    if (announced === undefined) return;
    this.announce(-1, -this.received.forget(number));
    this.#shares.dropped(announced);
  }

  /** A shared value is not kept any more: the session must not hold on to it. */
  forgetFunctions(): void {
    for (const routine of this.routes.values()) routine.forgetFunction();
  }

  /** Whether the caller is gone. */
  isClosed = false;

  /** The caller is gone. */
  close(): void {
    this.isClosed = true;
    this.outbox.close();
    this.unread.close();
    this.payloads.clear();
    this.#shares.closed(this);
  }

  /** A signal among the arguments of a task was aborted before the task came. */
  addEarlyAbort(id: number, aborted: AbortedSignal): void {
    this.addEarlyFrame();
    const known = this.#earlyAborts.get(id);
    if (known === undefined) this.#earlyAborts.set(id, [aborted]);
    else known.push(aborted);
  }

  /** Whether there are signals that were aborted before their tasks came. */
  get hasEarlyAborts(): boolean {
    return this.#earlyAborts.size > 0;
  }

  /** Takes out the signals of a task that were aborted before it came. */
  takeEarlyAborts(id: number): readonly AbortedSignal[] {
    const aborted = this.#earlyAborts.get(id) ?? [];
    this.#earlyAborts.delete(id);
    this.#earlyFrames -= aborted.length;
    return aborted;
  }

  #dropRoute(number: number): void {
    const routine = this.routes.get(number);
    if (routine === undefined) return;
    this.routes.delete(number);
    this.announce(-1, -routine.bytes);
  }

  /** Counts something that the caller announced; negative when it is replaced. Throws `LimitExceeded`. */
  announce(count: number, bytes: number): void {
    this.#announcements += count;
    this.#announcedBytes += bytes;
    const { maxAnnouncements, maxAnnouncedBytes } = this.limits;
    if (this.#announcements > maxAnnouncements) {
      throw new LimitExceeded("maxAnnouncements", maxAnnouncements, "routines, pieces of code and pools announced");
    }
    if (this.#announcedBytes > maxAnnouncedBytes) {
      throw new LimitExceeded("maxAnnouncedBytes", maxAnnouncedBytes, "bytes of routines, code and pools announced");
    }
  }

  /** Counts a frame that came before its task or generator. Throws `LimitExceeded`. */
  addEarlyFrame(): void {
    const { maxEarlyFrames } = this.limits;
    if (++this.#earlyFrames > maxEarlyFrames) {
      throw new LimitExceeded(
        "maxEarlyFrames",
        maxEarlyFrames,
        "steps and aborts that came before their task or generator",
      );
    }
  }

  /** Counts bytes that came for a task and cannot be used yet. Throws `LimitExceeded`. */
  addWaiting(bytes: number): void {
    this.#waitingBytes += bytes;
    const { maxWaitingBytes } = this.limits;
    if (this.#waitingBytes <= maxWaitingBytes) return;
    let largest = 0;
    for (const { largestWaiting } of this.tasks.list()) largest = Math.max(largest, largestWaiting);
    if (this.#waitingBytes - largest <= maxWaitingBytes) return;
    throw new LimitExceeded("maxWaitingBytes", maxWaitingBytes, "bytes of tasks and steps that cannot be run yet");
  }

  /** A task has used these bytes, or never will. */
  dropWaiting(bytes: number): void {
    this.#waitingBytes -= bytes;
  }

  /** Steps that waited for their generator have been taken. */
  dropEarlyFrames(count: number): void {
    this.#earlyFrames -= count;
  }

  /** The task has been started; its caller is told unless it ends before the next message. */
  started(task: RunningTask): void {
    this.#unaccepted.push(task);
  }

  /** Sends what is pending, and reports which tasks have been started. */
  flush(): void {
    if (this.#unaccepted.length > 0) {
      for (const task of this.#unaccepted) {
        if (task.wireId >= 0) writeAccepted(this.outbox.writer, task.wireId);
      }
      this.#unaccepted = [];
    }
    this.#outcomes.write();
    this.outbox.flush();
  }

  /** See `OutcomeSender.outcome`. */
  outcome(
    frame: OutcomeFrame,
    id: number,
    value: unknown,
    serializer: Serializer | undefined,
    flag: boolean,
    weak: readonly WeakCollection[],
    item = 0,
  ): void {
    this.#outcomes.outcome(frame, id, value, serializer, flag, weak, item);
  }

  reject(id: number, status: number, message: string): void {
    writeRejected(this.outbox.writer, id, { status, message });
  }

  /** The task was not run because modules are missing: the caller may send their code instead. */
  wantCode(id: number, message: string, hashes: readonly string[]): void {
    writeRejected(this.outbox.writer, id, { status: StatusCode.NOT_FOUND, message, codeWanted: hashes });
  }
}
