import { type Call, RemoteFailure, type Tally } from "../call/index.ts";
import { CodeUnavailable, RpcError, WorkerLost } from "../errors.ts";
import { processId } from "../functions/index.ts";
import { type GrpcChannel, type GrpcStatus, type GrpcStream, StatusCode } from "../grpc/index.ts";
import { payloadFiles } from "../host/index.ts";
import {
  ChunkField,
  FrameReader,
  LAST_RESPONSE_FIELD,
  LOST_REASON,
  MINIMUM_PROTOCOL_VERSION,
  Outbox,
  OutcomeField,
  PACE_TASK_US,
  PROTOCOL_VERSION,
  RejectedField,
  RequestField,
  ResponseField,
  type StepKind,
  type Welcome,
  WelcomeField,
  writeHello,
} from "../wire/index.ts";
import { DispatchWindow } from "./dispatch-window.ts";
import { errorForStatus } from "./error-classes.ts";
import { OutcomeDelivery } from "./outcome-delivery.ts";
import { type EncodedValue, RequestSender } from "./request-sender.ts";

const DISPATCH = "/wool.v1.Worker/Dispatch";
const GRPC_PREFIX_BYTES = 5;

/** What the owner of a session is told. */
export interface SessionEvents {
  /** The session has room for more calls. */
  progressed(session: Session): void;
  /** The session went from idle to busy, or back. */
  activity(busy: boolean): void;
  /** Somebody waits for a call now, or nobody does any more. */
  waitedFor(isWaitedFor: boolean): void;
  /** Nothing more can be sent. Calls in flight have been told. */
  closed(session: Session, error: Error): void;
}

/**
 * The caller's end of one stream to one task thread of a worker. Carries every call between the two, many at once.
 * `opening`: hello sent. `open`: welcomed. `closed`: over.
 */
export class Session {
  readonly window = new DispatchWindow();
  /** Messages of the worker so far. */
  messages = 0;
  readonly #events: SessionEvents;
  readonly #address: string;
  readonly #stream: GrpcStream;
  readonly #outbox: Outbox;
  readonly #sender: RequestSender;
  readonly #reader = new FrameReader(LAST_RESPONSE_FIELD);
  readonly #outcomes = new OutcomeDelivery((call, reason) => this.#abandon(call, reason));
  readonly #calls: (Call | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #welcomed: ((welcome: Welcome) => void) | undefined;
  #refused: ((error: RpcError) => void) | undefined;
  /** The worker's answer to the hello. Rejects when it does not want this caller. */
  readonly welcome: Promise<Welcome>;
  #state: "opening" | "open" | "closed" = "opening";
  #inFlight = 0;
  /** Streams among them whose caller has not asked for more. */
  #resting = 0;
  #isWaitedFor = false;

  constructor(channel: GrpcChannel, address: string, lane: number, events: SessionEvents) {
    this.#address = address;
    this.#events = events;
    this.welcome = new Promise((resolve, reject) => {
      this.#welcomed = resolve;
      this.#refused = reject;
    });
    this.#stream = channel.openStream(DISPATCH, {
      message: (buffer, start, end) => this.#message(buffer, start, end),
      drain: () => this.#outbox.drained(),
      status: (status) => this.#ended(status),
    });
    this.#outbox = new Outbox(this.#stream, GRPC_PREFIX_BYTES, RequestField.chunk);
    this.#sender = new RequestSender(this.#outbox, this.window);
    writeHello(this.#outbox.writer, {
      version: PROTOCOL_VERSION,
      minimum: MINIMUM_PROTOCOL_VERSION,
      // Tasks are called by it and their sequence number, and code that comes back from a worker is known by it.
      callerId: processId,
      lane,
      fileRealm: address.startsWith("unix:") ? payloadFiles.realm : "",
    });
    this.#outbox.flush();
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Calls that were sent and have not ended. */
  get inFlight(): number {
    return this.#inFlight;
  }

  /**
   * Sends calls in one message: those of the list from `from` up to, not including, `to`. `soon`: in one with what else
   * is sent in this turn of the event loop.
   */
  send(calls: readonly (Call | undefined)[], from: number, to: number, soon = false): void {
    if (this.#inFlight === 0) this.#events.activity(true);
    this.#inFlight += to - from;
    for (let i = from; i < to; i++) {
      const call = calls[i] as Call;
      call.id = this.#freeIds.pop() ?? this.#calls.length;
      this.#calls[call.id] = call;
      call.session = this;
      call.state = "sent";
      call.written = false;
      call.inTransfer = false;
      call.counted = false;
      this.#sender.task(call);
      call.onHanded?.();
    }
    this.#tellIfWaitedFor();
    if (soon) this.#outbox.schedule(true);
    else this.#outbox.flush();
  }

  /**
   * Advances a generator with a value, an error or a request to return. Throws when the value cannot travel.
   * `encoded`: the value, when it has been encoded already.
   */
  step(call: Call, kind: StepKind, value: unknown, after: number, encoded?: EncodedValue): void {
    if (call.session === this) this.#sender.step(call, kind, value, after, this.#inFlight <= 1, encoded);
  }

  /** Lets a generator run `steps` more plain steps. */
  credit(call: Call, steps: number): void {
    if (call.session === this) this.#sender.credit(call, steps, this.#inFlight <= 1);
  }

  /** The caller of a stream waits for its next step, or does not wait at present. */
  setWaitedFor(call: Call, isWaitedFor: boolean): void {
    if (call.session !== this || call.isResting !== isWaitedFor) return;
    call.isResting = !isWaitedFor;
    this.#resting += isWaitedFor ? -1 : 1;
    this.#tellIfWaitedFor();
  }

  /** Tells the worker that nobody waits for a call any more. */
  cancel(call: Call, reason: unknown): void {
    if (call.session === this) call.stream?.cancelled();
    this.#abandon(call, reason);
  }

  /** The calls in flight that are counted by `tally` and waited for. */
  callsOf(tally: Tally): Call[] {
    return this.#calls.flatMap((call) => (call?.tally === tally && isWanted(call) ? [call] : []));
  }

  /** A signal among the arguments of a call was aborted. */
  abort(call: Call, number: number, reason: unknown): void {
    if (call.session === this && this.#state !== "closed") this.#sender.abort(call, number, reason);
  }

  /** Ends the session. Calls in flight are lost. */
  close(error: Error): void {
    if (this.#state === "closed") return;
    this.#stream.cancel();
    this.#shut(error);
  }

  #abandon(call: Call, reason: unknown): void {
    if (call.session !== this || this.#state === "closed") return;
    const unstarted = call.state === "sent";
    call.state = "abandoned";
    this.#outcomes.payloads.dropChunks(call.id);
    this.#sender.cancel(call, reason);
    if (unstarted) this.window.started(1);
    // A worker answers for every task that it was sent; one whose arguments were still under way it never saw.
    if (!call.written) this.#release(call);
    this.#events.progressed(this);
  }

  #message(buffer: Buffer, start: number, end: number): void {
    this.messages++;
    const frame = this.#reader.open(buffer, start, end);
    let started = 0;
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
      switch (kind) {
        case ResponseField.result:
        case ResponseField.raised:
        case ResponseField.yielded:
          started += this.#outcome(frame, kind);
          break;
        case ResponseField.accepted:
          started += this.#started(this.#calls[frame.integer(1)]);
          break;
        case ResponseField.chunk:
          // Pieces of what nobody wants any more may still be under way.
          if (isWanted(this.#calls[frame.integer(ChunkField.id)])) this.#outcomes.payloads.addChunk(frame);
          break;
        case ResponseField.rejected:
          started += this.#rejected(frame);
          break;
        case ResponseField.dependency:
          this.#outcomes.received.add(frame);
          break;
        case ResponseField.welcome:
          this.#open(frame);
          break;
        case ResponseField.pace:
          this.window.pace(frame.integer(PACE_TASK_US));
          break;
        case ResponseField.executorLost:
          this.close(new WorkerLost(`a task thread of worker ${this.#address} ended: ${frame.text(LOST_REASON)}`));
          return;
      }
    }
    if (started > 0) this.window.started(started);
    this.#events.progressed(this);
  }

  #open(frame: FrameReader): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    if (frame.integer(WelcomeField.sharesFiles) === 1) {
      this.#outbox.store = payloadFiles;
      this.#outcomes.payloads.store = payloadFiles;
    }
    this.#welcomed?.({
      version: frame.integer(WelcomeField.version),
      workerUid: frame.text(WelcomeField.workerUid),
      lanes: frame.integer(WelcomeField.lanes),
      maxConcurrency: frame.integer(WelcomeField.maxConcurrency),
      sharesFiles: frame.integer(WelcomeField.sharesFiles) === 1,
    });
  }

  /** 1 when this is the first sign that the call was started. */
  #started(call: Call | undefined): number {
    if (call === undefined || call.state !== "sent") return 0;
    call.state = "running";
    call.onStarted?.();
    return 1;
  }

  #outcome(frame: FrameReader, kind: number): number {
    const id = frame.integer(OutcomeField.id);
    const call = this.#calls[id];
    if (call === undefined) return 0;
    const started = this.#started(call);
    const wanted = isWanted(call);
    if (kind !== ResponseField.yielded) this.#release(call);
    if (wanted) this.#outcomes.take(frame, kind, id, call);
    else this.#outcomes.drop(frame, id);
    return started;
  }

  #rejected(frame: FrameReader): number {
    const call = this.#calls[frame.integer(RejectedField.id)];
    if (call === undefined) return 0;
    const counts = call.state === "sent" ? 1 : 0;
    const wanted = call.state !== "abandoned";
    this.#release(call);
    if (!wanted) return counts;
    if (frame.has(RejectedField.codeWanted)) {
      this.#codeWanted(call, frame.text(RejectedField.codeWanted).split(" "), frame.text(RejectedField.message));
    } else {
      const status = { code: frame.integer(RejectedField.status), message: frame.text(RejectedField.message) };
      call.state = "waiting";
      const error = errorForStatus(status as GrpcStatus, this.#address);
      if (status.code === StatusCode.ABORTED) call.owner.returned(call, error);
      else call.owner.rejected(call, error);
    }
    return counts;
  }

  #codeWanted(call: Call, hashes: readonly string[], message: string): void {
    let remade: Call | undefined;
    try {
      remade = call.remake?.(hashes, message);
    } catch (error) {
      call.reject(new RemoteFailure(error));
      return;
    } finally {
      if (call.args !== remade?.args) call.args.drop();
    }
    if (remade !== undefined) call.owner.remade(remade, call.worker);
    else call.reject(new RemoteFailure(new CodeUnavailable(`worker ${this.#address}: ${message}`)));
  }

  #release(call: Call): void {
    this.#calls[call.id] = undefined;
    this.#freeIds.push(call.id);
    call.id = -1;
    call.session = undefined;
    call.state = "ended";
    if (call.isResting) this.#resting--;
    call.isResting = false;
    if (--this.#inFlight === 0) this.#events.activity(false);
    this.#tellIfWaitedFor();
  }

  #tellIfWaitedFor(): void {
    const isWaitedFor = this.#inFlight > this.#resting;
    if (isWaitedFor === this.#isWaitedFor) return;
    this.#isWaitedFor = isWaitedFor;
    this.#events.waitedFor(isWaitedFor);
  }

  #ended(status: GrpcStatus): void {
    if (this.#state === "closed") return;
    const error =
      this.#state === "opening" || status.code !== StatusCode.UNAVAILABLE
        ? errorForStatus(status, this.#address)
        : new WorkerLost(`worker ${this.#address} was lost: ${status.message}`);
    this.#shut(error);
  }

  #shut(error: Error): void {
    const opening = this.#state === "opening";
    this.#state = "closed";
    this.#outbox.close();
    this.#outcomes.payloads.clear();
    if (opening) {
      // Whoever opened the session may be gone; the failure reaches the calls through `closed`.
      this.welcome.catch(() => undefined);
      const unavailable = { code: StatusCode.UNAVAILABLE, message: error.message };
      this.#refused?.(error instanceof RpcError ? error : errorForStatus(unavailable, this.#address));
    }
    const lost = this.#calls.filter((call) => call !== undefined && call.state !== "abandoned");
    const busy = this.#inFlight > 0;
    this.#inFlight = 0;
    this.#resting = 0;
    this.#calls.length = 0;
    if (busy) this.#events.activity(false);
    this.#tellIfWaitedFor();
    this.#events.closed(this, error);
    for (const call of lost) {
      if (call === undefined) continue;
      call.session = undefined;
      call.id = -1;
      call.isResting = false;
      call.state = "ended";
      call.owner.lost(call, error);
    }
  }
}

function isWanted(call: Call | undefined): boolean {
  return call !== undefined && call.state !== "abandoned";
}
