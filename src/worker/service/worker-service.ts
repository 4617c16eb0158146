import type { ResourceLimits } from "node:worker_threads";
import type { WorkerDescription } from "../../discovery/index.ts";
import { WorkerStartError } from "../../errors.ts";
import {
  type GrpcServer,
  GrpcStatusError,
  type Health,
  type ListenAddress,
  type ServerStream,
  StatusCode,
} from "../../grpc/index.ts";
import { payloadFiles } from "../../host/index.ts";
import { peerIdentity } from "../../security/index.ts";
import {
  BatchWriter,
  CancelField,
  encodeDescribeResponse,
  encodeIdleResponse,
  FrameReader,
  HelloField,
  LAST_REQUEST_FIELD,
  PROTOCOL_VERSION,
  RequestField,
  readStopRequest,
  versionConflict,
  writeExecutorLost,
  writeRejected,
  writeWelcome,
} from "../../wire/index.ts";
import {
  GRPC_PREFIX_BYTES,
  LARGE_MESSAGE_BYTES,
  type ProcessCredentials,
  SESSION_PREFIX_BYTES,
  TaskSlots,
  type ThreadConfig,
} from "../shared/index.ts";
import { HandedMessages } from "./handed-messages.ts";
import { TaskThread } from "./task-thread.ts";
import { ThreadWatchdog } from "./thread-watchdog.ts";

/** The first byte of a message that begins with a cancellation. */
const CANCEL_TAG = (RequestField.cancel << 3) | 2;
/** How long the output of a task thread is waited for when it ends, in milliseconds. */
const LAST_OUTPUT_MS = 1000;
/** The same for a thread with a task that did not end when it was cancelled, and which it may be blocked by. */
const LAST_OUTPUT_BUSY_MS = 250;
/** How often a session that was held up looks whether it may go on, in milliseconds. */
const HELD_UP_MS = 5;

/** How a service is set up. */
export interface WorkerServiceOptions {
  readonly uid: string;
  /** What it tells of itself. */
  readonly about: WorkerDescription;
  readonly threads: number;
  /** Tasks that may run at once in all threads; 0 for no limit. */
  readonly maxConcurrency: number;
  readonly thread: Omit<ThreadConfig, "board" | "uid" | "lane" | "slots">;
  readonly resourceLimits: ResourceLimits | undefined;
  /** What tasks call other workers with; nothing if those use no TLS. */
  readonly credentials: ProcessCredentials | undefined;
  /** Called when a `Stop` request comes in; resolves when the worker has stopped. */
  readonly stopRequested: (timeout: number) => Promise<void>;
  /** Called when a task thread has ended and no other can take its place. */
  readonly broken: (reason: string) => void;
}

interface ServedSession {
  readonly number: number;
  readonly stream: ServerStream;
  readonly lane: number;
  /** Bytes of large messages that were written while the stream was full. */
  unreported: number;
}

/**
 * The gRPC side of a worker. Passes messages between callers and task threads without decoding them, and never runs
 * a user's code. `starting`, `serving`, then `stopping`: no new sessions.
 */
export class WorkerService {
  readonly #options: WorkerServiceOptions;
  readonly #server: GrpcServer;
  readonly #health: Health;
  readonly #threads: TaskThread[] = [];
  readonly #watchdogs: ThreadWatchdog[] = [];
  readonly #handed: HandedMessages[] = [];
  readonly #slots: TaskSlots | undefined;
  readonly #reader = new FrameReader(LAST_REQUEST_FIELD);
  readonly #sessions = new Map<number, ServedSession>();
  readonly #drained: (() => void)[] = [];
  #state: "starting" | "serving" | "stopping" = "starting";
  #lastSession = 0;
  #credentials: ProcessCredentials | undefined;
  readonly #startedAt = Date.now();

  constructor(options: WorkerServiceOptions, server: GrpcServer, health: Health) {
    this.#options = options;
    this.#server = server;
    this.#health = health;
    this.#credentials = options.credentials;
    const { maxConcurrency } = options;
    this.#slots = maxConcurrency === 0 ? undefined : TaskSlots.of(maxConcurrency, this.#lanes());
    server.addStream("/wool.v1.Worker/Dispatch", (stream) => this.#accept(stream));
    server.addUnary("/wool.v1.Worker/Idle", () => encodeIdleResponse(this.idleSeconds()));
    const metadata = JSON.stringify({ uid: options.uid, pid: process.pid, ...options.about });
    server.addUnary("/wool.v1.Worker/Describe", () => encodeDescribeResponse(metadata));
    server.addUnary("/wool.v1.Worker/Stop", async (request) => {
      let timeout: number;
      try {
        timeout = readStopRequest(request);
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        throw new GrpcStatusError(StatusCode.INVALID_ARGUMENT, `that is no StopRequest: ${reason}`, { cause });
      }
      await this.#options.stopRequested(timeout);
      return new Uint8Array(0);
    });
  }

  /** Starts the task threads and listens. Throws `WorkerStartError` when it cannot listen there. */
  async start(address: ListenAddress): Promise<ListenAddress> {
    for (let lane = 0; lane < this.#lanes(); lane++) this.#startThread(lane);
    // Whichever fails first is reported.
    const [actual] = await Promise.all([this.#listen(address), ...this.#threads.map((thread) => thread.ready)]);
    if (this.#state === "starting") this.#state = "serving";
    return actual;
  }

  /** Has tasks call other workers with these from now on. */
  useCredentials(credentials: ProcessCredentials): void {
    this.#credentials = credentials;
    for (const thread of this.#threads) thread.tell({ kind: "credentials", credentials });
  }

  /** Tasks that have been started and have not ended. */
  get live(): number {
    return this.#threads.reduce((sum, thread) => sum + thread.board.live, 0);
  }

  /** Seconds since the last task ended, 0 while one runs. */
  idleSeconds(): number {
    if (this.live > 0) return 0;
    const last = Math.max(this.#startedAt, ...this.#threads.map((thread) => thread.board.lastEnded));
    return (Date.now() - last) / 1000;
  }

  /** Takes no new tasks; resolves when none is left. */
  async drain(): Promise<void> {
    // Before that nobody has been told where the worker is, and there are no tasks.
    const hasServed = this.#state === "serving";
    this.#state = "stopping";
    this.#health.close();
    await Promise.all(
      this.#threads.map(
        (thread, lane) =>
          new Promise<void>((resolve) => {
            if (!hasServed || thread.hasEnded) return resolve();
            this.#drained[lane] = resolve;
            thread.tell({ kind: "stop" });
          }),
      ),
    );
  }

  /** Cancels all tasks that run. */
  cancel(): void {
    for (const thread of this.#threads) thread.tell({ kind: "cancel" });
  }

  /** Ends everything. */
  async close(graceMs: number): Promise<void> {
    this.#state = "stopping";
    for (const session of this.#sessions.values()) {
      session.stream.end({ code: StatusCode.UNAVAILABLE, message: "the worker has stopped" });
    }
    this.#sessions.clear();
    for (const watchdog of this.#watchdogs) watchdog.close();
    await Promise.all([
      this.#server.close({ graceMs }),
      ...this.#threads.map((thread) => thread.end(thread.board.live > 0 ? LAST_OUTPUT_BUSY_MS : LAST_OUTPUT_MS)),
    ]);
  }

  async #listen(address: ListenAddress): Promise<ListenAddress> {
    try {
      return await this.#server.listen(address);
    } catch (error) {
      const where = "path" in address ? address.path : `host ${JSON.stringify(address.host)}, port ${address.port}`;
      const reason = error instanceof Error ? error.message : String(error);
      throw new WorkerStartError(`it cannot listen on ${where}: ${reason}`, { cause: error });
    }
  }

  /** There is no use for more threads than tasks may run at once. */
  #lanes(): number {
    const { threads, maxConcurrency } = this.#options;
    return maxConcurrency === 0 ? threads : Math.min(threads, maxConcurrency);
  }

  #startThread(lane: number): TaskThread {
    const thread = new TaskThread(
      { ...this.#options.thread, uid: this.#options.uid, lane, slots: this.#slots?.memory },
      { resourceLimits: this.#options.resourceLimits },
      {
        message: (memory) => this.#toCaller(memory),
        malformed: (session, reason) => this.#expel(session, reason),
        finished: (session) => this.#finished(session),
        drained: () => this.#drained[lane]?.(),
        room: () => {
          this.#lookAfter(lane);
          this.#threads[lane]?.tell({ kind: "look" });
        },
        lost: (reason) => this.#lostThread(lane, reason),
      },
    );
    this.#threads[lane] = thread;
    if (this.#credentials !== undefined) thread.tell({ kind: "credentials", credentials: this.#credentials });
    this.#handed[lane] = new HandedMessages();
    this.#watchdogs[lane] = new ThreadWatchdog(thread, (reason) => {
      // Only when it has ended is it certain what it has not taken in.
      void thread.terminate().then(() => this.#lostThread(lane, reason));
    });
    return thread;
  }

  /** A task thread ended by itself: its sessions end with it, and another takes its place. */
  #lostThread(lane: number, reason: string): void {
    this.#drained[lane]?.();
    this.#watchdogs[lane]?.close();
    this.#slots?.reclaim(lane);
    this.#lookAfter(lane);
    const untaken = this.#handed[lane]?.untaken(this.#threads[lane]?.board.consumed ?? 0);
    for (const session of Array.from(this.#sessions.values())) {
      if (session.lane !== lane) continue;
      const writer = new BatchWriter(GRPC_PREFIX_BYTES);
      for (const id of untaken?.get(session.number) ?? []) {
        writeRejected(writer, id, { status: StatusCode.ABORTED, message: `the task thread ended: ${reason}` });
      }
      writeExecutorLost(writer, reason);
      session.stream.send(writer.take());
      session.stream.end({ code: StatusCode.UNAVAILABLE, message: `the task thread ended: ${reason}` });
      this.#sessions.delete(session.number);
    }
    if (this.#state === "serving") this.#replaceThread(lane);
  }

  #replaceThread(lane: number): void {
    this.#startThread(lane).ready.catch((error: unknown) => {
      this.#drained[lane]?.();
      if (this.#state === "serving") this.#options.broken(error instanceof Error ? error.message : String(error));
    });
  }

  /** Tells the other threads in which tasks wait that there may be room for them. */
  #lookAfter(lane: number): void {
    for (const other of this.#slots?.waitingAfter(lane) ?? []) this.#threads[other]?.tell({ kind: "look" });
  }

  #accept(stream: ServerStream): void {
    let session: ServedSession | undefined;
    stream.handle({
      message: (buffer, start, end) => {
        if (session === undefined)
          session = this.#welcome(stream, new FrameReader(LAST_REQUEST_FIELD).open(buffer, start, end));
        else this.#toThread(session, buffer, start, end);
      },
      drain: () => {
        if (session !== undefined) this.#reportSent(session);
      },
      halfClosed: () => {
        // What the caller has asked for before is done yet.
        if (session === undefined) stream.end();
        else this.#threads[session.lane]?.tell({ kind: "finish", session: session.number });
      },
      cancelled: () => {
        if (session !== undefined) this.#forget(session);
      },
    });
  }

  /** The hello is read before anything else is: an incompatible caller is told which versions there are. */
  #welcome(stream: ServerStream, frame: FrameReader): ServedSession {
    if (!isHello(frame)) {
      const message = `the first message of a session must be a hello; this worker speaks protocol version ${PROTOCOL_VERSION}`;
      throw new GrpcStatusError(StatusCode.FAILED_PRECONDITION, message);
    }
    const conflict = versionConflict(frame.integer(HelloField.version), frame.integer(HelloField.minimum));
    if (conflict !== undefined) throw new GrpcStatusError(StatusCode.FAILED_PRECONDITION, conflict);
    if (this.#state === "stopping") throw new GrpcStatusError(StatusCode.UNAVAILABLE, "the worker is stopping");
    const lane = frame.integer(HelloField.lane);
    const thread = this.#threads[lane];
    if (thread === undefined) {
      throw new GrpcStatusError(
        StatusCode.INVALID_ARGUMENT,
        `there is no lane ${lane}: the worker has ${this.#threads.length}`,
      );
    }
    const realm = frame.text(HelloField.fileRealm);
    const callerId = frame.text(HelloField.callerId);
    refuseMore(frame);
    const session: ServedSession = { number: ++this.#lastSession, stream, lane, unreported: 0 };
    this.#sessions.set(session.number, session);
    const sharesFiles = realm !== "" && realm === payloadFiles.realm;
    const { peerCertificate } = stream;
    const peer = peerCertificate === undefined ? undefined : peerIdentity(peerCertificate);
    thread.tell({ kind: "open", session: session.number, callerId, sharesFiles, peer });
    const writer = new BatchWriter(GRPC_PREFIX_BYTES);
    writeWelcome(writer, {
      version: PROTOCOL_VERSION,
      workerUid: this.#options.uid,
      lanes: this.#threads.length,
      maxConcurrency: this.#options.maxConcurrency,
      sharesFiles,
    });
    stream.send(writer.take());
    return session;
  }

  #toThread(session: ServedSession, buffer: Buffer, start: number, end: number): void {
    const thread = this.#threads[session.lane];
    if (thread === undefined) return;
    const memory = new ArrayBuffer(SESSION_PREFIX_BYTES + end - start);
    const message = Buffer.from(memory);
    message.writeUInt32LE(session.number, 0);
    buffer.copy(message, SESSION_PREFIX_BYTES, start, end);
    thread.hand(memory);
    this.#handed[session.lane]?.add(session.number, buffer, start, end, thread.posted, thread.board.consumed);
    if (buffer[start] === CANCEL_TAG) this.#noteCancelled(session, buffer, start, end);
    else this.#watchdogs[session.lane]?.wake();
    if (!thread.keepsUp) this.#holdUp(session, thread);
  }

  /** Cancellations come first in a message, so that they can be seen without reading all of it. */
  #noteCancelled(session: ServedSession, buffer: Buffer, start: number, end: number): void {
    const frame = this.#reader.open(buffer, start, end);
    try {
      while (frame.next() === RequestField.cancel) {
        this.#watchdogs[session.lane]?.cancelled(session.number, frame.integer(CancelField.id));
      }
    } catch {
      // The task thread says what is wrong with it.
    }
  }

  /** Reads no more from a caller whose task thread does not keep up, so that memory stays bounded. */
  #holdUp(session: ServedSession, thread: TaskThread): void {
    session.stream.pause();
    const look = setInterval(() => {
      if (!thread.keepsUp && !thread.hasEnded && !session.stream.closed) return;
      clearInterval(look);
      session.stream.resume();
    }, HELD_UP_MS);
  }

  #toCaller(memory: ArrayBuffer): void {
    const message = Buffer.from(memory);
    const session = this.#sessions.get(message.readUInt32LE(0));
    if (session === undefined) return;
    const writable = session.stream.send(message.subarray(SESSION_PREFIX_BYTES));
    if (message.length > LARGE_MESSAGE_BYTES) session.unreported += message.length;
    if (writable) this.#reportSent(session);
  }

  #reportSent(session: ServedSession): void {
    if (session.unreported === 0) return;
    const bytes = session.unreported;
    session.unreported = 0;
    this.#threads[session.lane]?.tell({ kind: "sent", session: session.number, bytes });
  }

  #expel(number: number, reason: string): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    this.#sessions.delete(number);
    session.stream.end({ code: StatusCode.INVALID_ARGUMENT, message: `the message cannot be understood: ${reason}` });
  }

  /** Its caller sends nothing more, and has been sent everything. */
  #finished(number: number): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    session.stream.end();
    this.#forget(session);
  }

  #forget(session: ServedSession): void {
    this.#sessions.delete(session.number);
    this.#threads[session.lane]?.tell({ kind: "close", session: session.number });
    this.#watchdogs[session.lane]?.abandoned(session.number);
  }
}

function isHello(frame: FrameReader): boolean {
  try {
    return frame.next() === RequestField.hello;
  } catch {
    return false;
  }
}

/** What came with the hello would be lost, and its caller would wait for ever. */
function refuseMore(frame: FrameReader): void {
  let more: boolean;
  try {
    more = frame.next() !== 0;
  } catch {
    more = true;
  }
  if (more) throw new GrpcStatusError(StatusCode.INVALID_ARGUMENT, "a hello must be alone in its message");
}
