import { acceptDependency } from "../../functions/index.ts";
import { PREFIX_BYTES, StatusCode } from "../../grpc/index.ts";
import type { PeerIdentity } from "../../security/index.ts";
import {
  dumpWith,
  functionPort,
  type Serializer,
  ValueDecoder,
  ValueEncoder,
  type WeakCollection,
} from "../../values/index.ts";
import {
  type CompleteLimits,
  DEFAULT_LIMITS,
  type FrameReader,
  INLINE_LIMIT_BYTES,
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
  SentDependencies,
  SHARED_CHUNKS,
  SharedField,
  STORE_FROM_BYTES,
  type UnfinishedWatch,
  writeAccepted,
  writeOutcome,
  writeRejected,
  writeSmallOutcome,
  writeWanted,
} from "../../wire/index.ts";
import { SESSION_PREFIX_BYTES } from "../shared/index.ts";
import type { AnnouncedPool, SessionPool } from "./announced-pool.ts";
import { RemoteRoutine } from "./routines/index.ts";
import type { AbortedSignal, RunningTask } from "./running-task.ts";
import { TaskTable } from "./task-table.ts";
import { isShare, type ShareSession, type ThreadShares } from "./thread-shares.ts";
import { SessionInbox } from "./turns/index.ts";
import { UnreadOutput } from "./unread-output.ts";

/** What a payload is called in messages, if not the result. */
const ROOT_NAMES: ReadonlyMap<number, string> = new Map([
  [ResponseField.yielded, "yielded"],
  [ResponseField.raised, "error"],
]);
const NONE: readonly number[] = Object.freeze([]);

/** How a session is made. */
export interface ExecutorSessionOptions {
  readonly number: number;
  readonly callerId: string;
  /** Shared with the caller; nothing when it shares none. */
  readonly store: PayloadStore | undefined;
  readonly sink: MessageSink;
  /** Who the caller proved to be. */
  readonly peer?: PeerIdentity | undefined;
  /** The caller wants messages with frames of one kind each. */
  readonly oneKind?: boolean;
  /** Counts the messages that were begun to be read, where the gRPC thread sees it when this thread has ended. */
  readonly taken?: Float64Array;
  readonly limits?: CompleteLimits | undefined;
  /** Told of payloads of which pieces are missing. */
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
export class ExecutorSession implements ShareSession {
  /** Names the session within its worker; from 1. */
  readonly number: number;
  readonly callerId: string;
  /** Who the caller proved to be with a certificate. */
  readonly peer: PeerIdentity | undefined;
  readonly routes = new Map<number, RemoteRoutine>();
  /** The ways to the pools that tasks come from, by number. */
  readonly pools = new Map<number, SessionPool>();
  /** How many bytes they count for, and how many of those are of their balancers. */
  readonly #poolBytes = new Map<number, { readonly all: number; readonly balancer: number }>();
  readonly tasks = new TaskTable();
  /** Tasks that have been started and have not ended, also those that are no longer the session's. */
  live = 0;
  /** Arguments and values for generators, wherever they arrive. */
  readonly payloads: IncomingPayloads;
  /** What came and has not been worked off. */
  readonly inbox = new SessionInbox();
  /** What the caller was sent and has not read. */
  readonly unread: UnreadOutput;
  /** What the caller may take of this thread. */
  readonly limits: CompleteLimits;
  /** Signals that were aborted before the tasks came that have them among their arguments, by task id. */
  readonly #earlyAborts = new Map<number, AbortedSignal[]>();
  /** How many there are of those, and of steps for generators that are not there yet. */
  #earlyFrames = 0;
  readonly decoder = new ValueDecoder(functionPort({ isCall: true }));
  readonly #encoder: ValueEncoder;
  readonly received: ReceivedDependencies;
  readonly #shares: ThreadShares;
  readonly outbox: Outbox;
  readonly #sent = new SentDependencies();
  readonly #touched: () => void;
  readonly #taken: Float64Array;
  #reading: FrameReader | undefined;
  /** Bytes of what its tasks have not used. */
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
    // Functions and classes that came from the caller go back by name, and so do shared values.
    const holds = (hash: string): boolean => this.received.hasValue(hash);
    this.#encoder = new ValueEncoder(functionPort({ destination: callerId, holds }));
    const send = (message: Buffer): boolean => {
      const isWritable = this.unread.sent(message.length);
      return sink.send(message) && isWritable;
    };
    this.outbox = new Outbox({ send }, SESSION_PREFIX_BYTES + PREFIX_BYTES, ResponseField.chunk);
    this.outbox.store = store;
    this.outbox.oneKind = oneKind;
    this.payloads.store = store;
  }

  /** A message is read, from its beginning or further: some of its tasks may be run from now on. */
  begin(message: FrameReader): void {
    if (this.#reading === message) return;
    this.#reading = message;
    this.#taken[0] = (this.#taken[0] ?? 0) + 1;
  }

  /** The message has been read. */
  done(): void {
    this.#reading = undefined;
  }

  /** Takes the route frame that the reader stands on. */
  addRoute(frame: FrameReader): void {
    const number = frame.integer(RouteField.number);
    this.#dropRoute(frame.integer(RouteField.replaces));
    this.#dropRoute(number);
    const routine = new RemoteRoutine(frame, this.decoder, this.received);
    this.announce(1, routine.bytes);
    this.routes.set(number, routine);
  }

  /** Takes the frame about a pool that the reader stands on; `open` finds the way to it, or throws for nonsense. */
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
    // Of a pool that changes all the time only what is kept counts.
    const before = this.#poolBytes.get(number) ?? { all: 0, balancer: encoded?.length ?? 0 };
    const all = pool.size + before.balancer;
    this.#poolBytes.set(number, { all, balancer: before.balancer });
    this.announce(known === undefined ? 1 : 0, all - before.all);
  }

  wantShared(number: number, withoutFile: boolean): void {
    writeWanted(this.outbox.writer, number, withoutFile);
    this.#touched();
  }

  /** Takes the frame about a shared value that the reader stands on. Throws for nonsense. */
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

  /** The caller no longer has a shared value. */
  dropShared(number: number): void {
    const announced = this.received.valueOf(number);
    if (announced === undefined) return;
    this.announce(-1, -this.received.forget(number));
    this.#shares.dropped(announced);
  }

  /** A shared value is not kept any more: nothing here may hold on to it. */
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

  /** Whether signals were aborted before their tasks came. */
  get hasEarlyAborts(): boolean {
    return this.#earlyAborts.size > 0;
  }

  /** The signals of a task that were aborted before it came, once. */
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

  /** Counts something that came before what it is for. Throws `LimitExceeded`. */
  addEarlyFrame(): void {
    const { maxEarlyFrames } = this.limits;
    if (++this.#earlyFrames > maxEarlyFrames) {
      throw new LimitExceeded("maxEarlyFrames", maxEarlyFrames, "steps and aborts before what they are for");
    }
  }

  /** Counts bytes that a task came with, or was sent, and cannot use yet. Throws `LimitExceeded`. */
  addWaiting(bytes: number): void {
    this.#waitingBytes += bytes;
    const { maxWaitingBytes } = this.limits;
    if (this.#waitingBytes <= maxWaitingBytes) return;
    let largest = 0;
    for (const { largestWaiting } of this.tasks.list()) largest = Math.max(largest, largestWaiting);
    if (this.#waitingBytes - largest <= maxWaitingBytes) return;
    throw new LimitExceeded("maxWaitingBytes", maxWaitingBytes, "bytes of tasks and steps that cannot be run yet");
  }

  /** A task has used them, or never will. */
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

  /** Sends what there is, and says which tasks have been started. */
  flush(): void {
    if (this.#unaccepted.length > 0) {
      for (const task of this.#unaccepted) {
        if (task.wireId >= 0) writeAccepted(this.outbox.writer, task.wireId);
      }
      this.#unaccepted = [];
    }
    this.outbox.flush();
  }

  /**
   * Encodes what a task gave back. Throws when it cannot travel. Serializers never get `undefined`.
   *
   * @param flag - see `writeOutcome`
   * @param item - which call of a pack it is of, from 1
   */
  outcome(
    frame: OutcomeFrame,
    id: number,
    value: unknown,
    serializer: Serializer | undefined,
    flag: boolean,
    weak: readonly WeakCollection[],
    item = 0,
  ): void {
    const { outbox } = this;
    const { writer } = outbox;
    const encoder = this.#encoder;
    if (serializer !== undefined && value === undefined) {
      outbox.inOrder(id, () => writeOutcome(writer, frame, id, {}, NONE, flag, item));
      return;
    }
    const rootName = ROOT_NAMES.get(frame) ?? "result";
    const encode = frame === ResponseField.raised ? "encodeThrown" : "encodeInParts";
    const bytes =
      serializer === undefined ? encoder[encode](value, rootName, weak) : dumpWith(serializer, value, rootName);
    const dependencies = serializer === undefined ? encoder.takeDependencies() : [];
    const small = bytes instanceof Uint8Array && bytes.length <= STORE_FROM_BYTES;
    if (small && dependencies.length === 0 && !flag && !outbox.isHeldUp(id)) {
      writeSmallOutcome(writer, frame, id, bytes, item);
      return;
    }
    const needs =
      dependencies.length === 0 ? NONE : this.#sent.announce(writer, ResponseField.dependency, dependencies);
    // A large outcome takes a while to go out. The caller learns before it that the task was started.
    if (bytes.length > INLINE_LIMIT_BYTES) writeAccepted(writer, id);
    outbox.place(id, bytes, (place) => {
      writeOutcome(writer, frame, id, place, needs, flag, item);
      outbox.schedule(true);
    });
  }

  reject(id: number, status: number, message: string): void {
    writeRejected(this.outbox.writer, id, { status, message });
  }

  /** The task was not run because modules are missing: the caller may send their code instead. */
  wantCode(id: number, message: string, hashes: readonly string[]): void {
    writeRejected(this.outbox.writer, id, { status: StatusCode.NOT_FOUND, message, codeWanted: hashes });
  }
}
