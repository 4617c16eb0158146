import { randomBytes } from "node:crypto";
import { basename } from "node:path";
import { messageOf } from "../../checks/index.ts";
import { WorkerStartError } from "../../errors.ts";
import {
  type GrpcServer,
  GrpcStatusError,
  type Health,
  type ListenAddress,
  PREFIX_BYTES,
  type ServerStream,
  SMALL_REQUEST_BYTES,
  StatusCode,
  type UnaryHandler,
} from "../../grpc/index.ts";
import { payloadFiles } from "../../host/index.ts";
import { peerIdentity } from "../../security/index.ts";
import {
  BatchWriter,
  encodeDescribeResponse,
  encodeIdleResponse,
  FrameReader,
  LAST_REQUEST_FIELD,
  readStopRequest,
  type Welcome,
  writeExecutorLost,
} from "../../wire/index.ts";
import {
  ConcurrencyPermits,
  type ProcessCredentials,
  SENT_REPORT_BYTES,
  SESSION_PREFIX_BYTES,
  type ShareOrder,
  UnfinishedPayloads,
  unfinishedMemory,
} from "../shared/index.ts";
import { LanePaths } from "./lane-paths.ts";
import { ProcessShares } from "./process-shares.ts";
import { readHello } from "./read-hello.ts";
import { laneCount, type WorkerServiceOptions, welcomeMessage } from "./service-options.ts";
import { TaskLane, type TaskLaneEvents } from "./task-lane.ts";
import { TaskThread } from "./task-thread.ts";

/** Random bytes in the ticket of a lane. */
const TICKET_BYTES = 24;

interface ServedSession {
  readonly number: number;
  readonly stream: ServerStream;
  readonly lane: TaskLane;
  /** Its caller wants messages with frames of one kind each. */
  readonly oneKind: boolean;
  /** How many of its messages the task thread has begun to read, including the hello. */
  readonly taken: Float64Array;
  /** Bytes that were written and not reported yet. */
  unreported: number;
}

/**
 * The gRPC side of a worker. Passes messages between callers and task threads without decoding them, and never runs
 * user code. `starting`: not listening yet. `serving`. `stopping`: no new sessions.
 */
export class WorkerService {
  readonly #options: WorkerServiceOptions;
  readonly #server: GrpcServer;
  readonly #health: Health;
  readonly #lanes: TaskLane[] = [];
  readonly #permits: ConcurrencyPermits | undefined;
  readonly #unfinished: SharedArrayBuffer;
  /** Messages that have not come whole, here. */
  readonly #messages: UnfinishedPayloads;
  readonly #shares: ProcessShares;
  readonly #sessions = new Map<number, ServedSession>();
  #state: "starting" | "serving" | "stopping" = "starting";
  #lastSession = 0;
  #credentials: ProcessCredentials | undefined;
  readonly #startedAt = Date.now();
  #lanePaths: LanePaths | undefined;

  constructor(options: WorkerServiceOptions, server: GrpcServer, health: Health) {
    this.#options = options;
    this.#server = server;
    this.#health = health;
    this.#credentials = options.credentials;
    const { maxConcurrency: most } = options;
    this.#permits = most === 0 ? undefined : ConcurrencyPermits.of(most, laneCount(options));
    this.#unfinished = unfinishedMemory(laneCount(options));
    const { limits } = options.thread;
    this.#messages = new UnfinishedPayloads({ memory: this.#unfinished, lane: laneCount(options), ...limits });
    const tell = (lane: number, order: ShareOrder): void => this.#lanes[lane]?.tell(order);
    this.#shares = new ProcessShares(options.thread.shareBudget, tell);
    const maxSessions = options.maxSessions * laneCount(options);
    server.addStream("/wool.v1.Worker/Dispatch", (stream) => this.#accept(stream), maxSessions);
    const addUnary = (method: string, handler: UnaryHandler): void =>
      server.addUnary(`/wool.v1.Worker/${method}`, handler, SMALL_REQUEST_BYTES);
    addUnary("Idle", () => encodeIdleResponse(this.idleSeconds()));
    const metadata = JSON.stringify({ uid: options.uid, pid: process.pid, ...options.about });
    addUnary("Describe", () => encodeDescribeResponse(metadata));
    addUnary("Stop", async (request) => {
      let timeout: number;
      try {
        timeout = readStopRequest(request);
      } catch (cause) {
        const message = `the message is not a StopRequest: ${messageOf(cause)}`;
        throw new GrpcStatusError(StatusCode.INVALID_ARGUMENT, message, { cause });
      }
      await this.#options.stopRequested(timeout);
      return new Uint8Array(0);
    });
  }

  /** Starts the task threads and listens. Throws `WorkerStartError` when it cannot listen there. */
  async start(address: ListenAddress): Promise<ListenAddress> {
    this.#lanePaths = new LanePaths(address, this.#options.credentials !== undefined);
    for (let lane = 0; lane < laneCount(this.#options); lane++) this.#lanes.push(this.#openLane(lane));
    // The first failure is reported.
    const [actual] = await Promise.all([this.#listen(address), ...this.#lanes.map((lane) => lane.ready)]);
    if (this.#state === "starting") this.#state = "serving";
    return actual;
  }

  /** Tasks use these credentials to call other workers from now on. */
  useCredentials(credentials: ProcessCredentials): void {
    this.#credentials = credentials;
    for (const lane of this.#lanes) lane.tell({ kind: "credentials", credentials });
  }

  /** Tasks that have been started and have not ended. */
  get live(): number {
    return this.#lanes.reduce((sum, lane) => sum + lane.board.live, 0);
  }

  /** Seconds since the last task ended, 0 while one runs. */
  idleSeconds(): number {
    if (this.live > 0) return 0;
    const last = Math.max(this.#startedAt, ...this.#lanes.map((lane) => lane.board.lastEnded));
    return (Date.now() - last) / 1000;
  }

  /** Takes no new tasks; resolves when none is left. */
  async drain(): Promise<void> {
    // A worker that is not serving yet has no tasks: nobody knows its address.
    const hasServed = this.#state === "serving";
    this.#state = "stopping";
    this.#health.close();
    if (hasServed) await Promise.all(this.#lanes.map((lane) => lane.drain()));
  }

  /** Cancels all running tasks. */
  cancel(): void {
    for (const lane of this.#lanes) lane.tell({ kind: "cancel" });
  }

  /** After `drain`: each thread disposes of its resources. Resolves when none has anything left to do. */
  async settle(): Promise<void> {
    await Promise.all(this.#lanes.map((lane) => lane.settle()));
  }

  /** Closes the service. */
  async close(graceMs: number): Promise<void> {
    this.#state = "stopping";
    for (const session of this.#sessions.values()) {
      // Later messages of a caller are not read any more.
      session.stream.end(
        session.lane.isDrained
          ? { code: StatusCode.ABORTED, message: "the worker has stopped, and has answered every task that it ran" }
          : { code: StatusCode.UNAVAILABLE, message: "the worker has stopped" },
      );
    }
    this.#sessions.clear();
    await Promise.all([this.#server.close({ graceMs }), ...this.#lanes.map((lane) => lane.end())]);
    this.#lanePaths?.remove();
  }

  async #listen(address: ListenAddress): Promise<ListenAddress> {
    try {
      return await this.#server.listen(address);
    } catch (error) {
      const where = "path" in address ? address.path : `host ${JSON.stringify(address.host)}, port ${address.port}`;
      const reason = messageOf(error);
      throw new WorkerStartError(`it cannot listen on ${where}: ${reason}`, { cause: error });
    }
  }

  #openLane(number: number): TaskLane {
    const { uid, thread, resourceLimits } = this.#options;
    return new TaskLane(
      (events) => {
        const laneSocket = this.#lanePaths?.renew(number);
        const permits = this.#permits?.memory;
        const config = { ...thread, uid, lane: number, permits, unfinished: this.#unfinished, laneSocket };
        const started = new TaskThread(config, { resourceLimits }, events);
        if (this.#credentials !== undefined) started.tell({ kind: "credentials", credentials: this.#credentials });
        return started;
      },
      {
        message: (memory) => this.#toCaller(memory),
        malformed: (session, reason) => this.#refuse(session, reason),
        exhausted: (session, reason) => this.#expel(session, reason),
        hold: (session, isHeld) => this.#hold(session, isHeld),
        finished: (session) => this.#finished(session),
        room: () => {
          this.#lookAfter(number);
          this.#lanes[number]?.tell({ kind: "look" });
        },
        share: (notice) => this.#shares.hear(number, notice),
        cut: (session, reason) => this.#cut(session, reason),
        lost: (...about) => this.#lostThread(number, ...about),
      },
    );
  }

  /** A task thread ended by itself: its sessions end with it, and a new thread replaces it. */
  #lostThread(number: number, ...[reason, culprit]: Parameters<TaskLaneEvents["lost"]>): void {
    const lane = this.#lanes[number];
    this.#permits?.reclaim(number);
    this.#shares.lost(number);
    this.#lookAfter(number);
    for (const session of Array.from(this.#sessions.values())) {
      if (session.lane !== lane) continue;
      if (culprit === undefined) this.#endLost(session, reason);
      else if (culprit.session === session.number) this.#endLost(session, reason, culprit.id);
      else this.#endLost(session, `${reason} (a task of another caller)`);
    }
    // Also while other threads start: nobody would answer its callers later.
    if (this.#state === "stopping") return;
    lane?.replace().catch((error: unknown) => {
      if (this.#state !== "stopping") this.#options.broken(messageOf(error));
    });
  }

  /** The lane of a session was closed: nothing more can be read or sent there. */
  #cut(number: number, reason: string): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    this.#endLost(session, reason);
    session.lane.forget(session);
  }

  /** Ends a session that lost its task thread, and tells its caller which of its messages were not read. */
  #endLost(session: ServedSession, reason: string, culprit?: number): void {
    this.#sessions.delete(session.number);
    const writer = new BatchWriter(PREFIX_BYTES);
    writeExecutorLost(writer, reason, session.taken[0] ?? 0, culprit);
    session.stream.send(writer.take());
    session.stream.end({ code: StatusCode.UNAVAILABLE, message: `the task thread ended: ${reason}` });
  }

  /** Tells the other threads in which tasks wait that there may be room for them. */
  #lookAfter(lane: number): void {
    for (const other of this.#permits?.waitingAfter(lane) ?? []) this.#lanes[other]?.tell({ kind: "look" });
  }

  #accept(stream: ServerStream): void {
    let session: ServedSession | undefined;
    // A hello is not larger.
    stream.limitMessages(SMALL_REQUEST_BYTES);
    stream.handle({
      message: (buffer, start, end) => {
        if (session === undefined) {
          session = this.#welcome(stream, new FrameReader(LAST_REQUEST_FIELD).open(buffer, start, end));
          stream.limitMessages(Number.POSITIVE_INFINITY);
          this.#watchMessages(session);
        } else if (end > start) session.lane.hand(session, buffer, start, end);
      },
      drain: () => {
        if (session !== undefined) this.#reportSent(session);
      },
      halfClosed: () => {
        // The caller still gets the answers that it has asked for.
        if (session === undefined) stream.end();
        else session.lane.tell({ kind: "finish", session: session.number });
      },
      cancelled: () => {
        if (session !== undefined) this.#forget(session);
      },
    });
  }

  #watchMessages(session: ServedSession): void {
    const held = this.#messages.message({
      isBehind: () => session.stream.isPaused,
      expel: (reason) => {
        this.#expel(session.number, reason);
        session.lane.forget(session);
      },
    });
    session.stream.watchHeld(held);
  }

  #welcome(stream: ServerStream, frame: FrameReader): ServedSession {
    const { callerId, lane: number, fileRealm, oneKind, takesLane } = readHello(frame);
    if (this.#state === "stopping") throw new GrpcStatusError(StatusCode.UNAVAILABLE, "the worker is stopping");
    const lane = this.#lanes[number];
    if (lane === undefined) {
      throw new GrpcStatusError(
        StatusCode.INVALID_ARGUMENT,
        `there is no lane ${number}: the worker has ${this.#lanes.length} of them, counted from 0`,
      );
    }
    const taken = new SharedArrayBuffer(8);
    const session: ServedSession = {
      number: ++this.#lastSession,
      stream,
      lane,
      oneKind,
      taken: new Float64Array(taken),
      unreported: 0,
    };
    session.taken[0] = 1;
    this.#sessions.set(session.number, session);
    // Only processes that can enter the directory of the socket can enter the directory of the files. Others may know
    // the name of the realm.
    const sharesFiles = stream.peer === "unix:" && fileRealm !== "" && fileRealm === payloadFiles.realm;
    const { peerCertificate } = stream;
    const peer = peerCertificate === undefined ? undefined : peerIdentity(peerCertificate);
    const path = takesLane ? this.#lanePaths?.of(number) : undefined;
    const laneTicket = randomBytes(TICKET_BYTES).toString("base64url");
    const ticket = path === undefined ? undefined : laneTicket;
    const party =
      peer === undefined ? `connection ${stream.connection}` : `peer ${peer.names.join() || peer.fingerprint}`;
    lane.tell({ kind: "open", session: session.number, callerId, sharesFiles, oneKind, peer, party, ticket, taken });
    if (path === undefined) this.#greet(session, sharesFiles);
    else {
      void lane.listening.then((hasLane) => {
        if (!this.#sessions.has(session.number)) return;
        this.#greet(session, sharesFiles, hasLane ? { laneSocket: basename(path), laneTicket } : {});
      });
    }
    return session;
  }

  #greet({ stream }: ServedSession, sharesFiles: boolean, lane: Pick<Welcome, "laneSocket" | "laneTicket"> = {}): void {
    stream.send(welcomeMessage(this.#options, { lanes: this.#lanes.length, sharesFiles, ...lane }));
  }

  #toCaller(memory: ArrayBuffer): void {
    const message = Buffer.from(memory);
    const session = this.#sessions.get(message.readUInt32LE(0));
    if (session === undefined) return;
    const writable = session.stream.send(message.subarray(SESSION_PREFIX_BYTES));
    session.unreported += message.length;
    if (writable && session.unreported >= SENT_REPORT_BYTES) this.#reportSent(session);
  }

  #reportSent(session: ServedSession): void {
    if (session.unreported === 0) return;
    const bytes = session.unreported;
    session.unreported = 0;
    session.lane.tell({ kind: "sent", session: session.number, bytes });
  }

  /** A caller exceeded a limit: its connection ends, and unread output is dropped. */
  #expel(number: number, reason: string): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    this.#sessions.delete(number);
    session.stream.expel({ code: StatusCode.RESOURCE_EXHAUSTED, message: reason });
  }

  #hold(number: number, isHeld: boolean): void {
    const session = this.#sessions.get(number);
    if (isHeld) session?.stream.pause();
    else session?.stream.resume();
  }

  #refuse(number: number, reason: string): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    this.#sessions.delete(number);
    session.stream.end({ code: StatusCode.INVALID_ARGUMENT, message: `the message cannot be understood: ${reason}` });
  }

  /** The caller sends nothing more, and has been sent everything. */
  #finished(number: number): void {
    const session = this.#sessions.get(number);
    if (session === undefined) return;
    session.stream.end();
    this.#forget(session);
  }

  #forget(session: ServedSession): void {
    this.#sessions.delete(session.number);
    session.lane.forget(session);
  }
}
