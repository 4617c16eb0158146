import { type Call, type EarlyValue, type PoolReference, packCalls, type Recipient } from "../call/index.ts";
import { RpcError, WorkerLost } from "../errors.ts";
import { type GrpcChannel, type GrpcStatus, PREFIX_BYTES, StatusCode } from "../grpc/index.ts";
import { payloadFiles } from "../host/index.ts";
import {
  type CallerLimits,
  ChunkField,
  DEFAULT_ENCODING,
  FrameReader,
  LAST_RESPONSE_FIELD,
  LostField,
  Outbox,
  OutcomeField,
  PaceField,
  RejectedField,
  RequestField,
  ResponseField,
  type StepKind,
  WantedField,
  type Welcome,
} from "../wire/index.ts";
import { DispatchWindow } from "./dispatch-window.ts";
import { EndedTasks } from "./ended-tasks.ts";
import { errorForStatus } from "./error-classes.ts";
import { OutcomeDelivery, remake } from "./outcome-delivery.ts";
import { PeerTerms } from "./peer-terms.ts";
import { RequestSender } from "./request-sender.ts";
import type { SentTask, TaskSession } from "./sent-task.ts";
import { type SentTaskEvents, SentTasks } from "./sent-tasks.ts";
import { SessionStream } from "./session-stream.ts";
import { endUnanswered, type Unanswered } from "./unanswered-calls.ts";
import { UnwantedTasks } from "./unwanted-tasks.ts";

/** Told of changes by a session that it owns. */
export interface SessionEvents extends SentTaskEvents {
  /** The session has room for more calls. */
  progressed(session: Session): void;
  /** Nothing more can be sent. Calls in flight have been told. */
  closed(session: Session, error: Error): void;
}

/**
 * The caller's end of a session with one task thread of a worker. It carries every call between the two, many at once.
 * `opening`: hello sent. `open`: welcomed, and connected to the lane if there is one. `closed`: over.
 */
export class Session implements TaskSession {
  readonly window = new DispatchWindow();
  /** Messages of the worker so far. */
  messages = 0;
  readonly #events: SessionEvents;
  readonly #address: string;
  readonly #terms: PeerTerms;
  readonly #stream: SessionStream;
  readonly #outbox: Outbox;
  readonly #sender: RequestSender;
  readonly #reader = new FrameReader(LAST_RESPONSE_FIELD);
  readonly #outcomes: OutcomeDelivery;
  readonly #tasks: SentTasks;
  readonly #unwanted: UnwantedTasks;
  #welcomed: ((welcome: Welcome) => void) | undefined;
  #refused: ((error: RpcError) => void) | undefined;
  /** The worker's answer to the hello. Rejects when the worker refuses this caller. */
  readonly welcome: Promise<Welcome>;
  #state: "opening" | "open" | "closed" = "opening";
  #willProgress = false;
  readonly #endedTasks = new EndedTasks();

  constructor(
    channel: GrpcChannel,
    address: string,
    lane: number,
    events: SessionEvents,
    limits?: CallerLimits,
    maxMessageBytes?: number,
  ) {
    this.#address = address;
    this.#terms = new PeerTerms(address, maxMessageBytes);
    this.#outcomes = new OutcomeDelivery((call, reason) => call.task?.cancel(reason), limits);
    this.#events = events;
    this.welcome = new Promise((resolve, reject) => {
      this.#welcomed = resolve;
      this.#refused = reject;
    });
    this.#tasks = new SentTasks(this, events);
    this.#stream = new SessionStream(channel, address, {
      message: (buffer, start, end) => this.#message(buffer, start, end),
      drain: () => this.#outbox.drained(),
      ended: (status, isWhole) => this.#ended(status, isWhole),
    });
    this.#unwanted = new UnwantedTasks(PREFIX_BYTES, (message) => this.#stream.sendBeside(message));
    this.#outbox = new Outbox(this.#stream, PREFIX_BYTES, RequestField.chunk);
    if (maxMessageBytes !== undefined) this.#outbox.limitMessages(maxMessageBytes);
    this.#sender = new RequestSender(this.#outbox, this.window);
    this.#terms.greet(this.#outbox.writer, lane);
    this.#outbox.flush();
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Calls that were sent and have not ended. */
  get inFlight(): number {
    return this.#tasks.inFlight;
  }

  /** Tasks that may be sent now. */
  get room(): number {
    return this.window.room;
  }

  /** Sends calls in one message. `soon`: together with everything else that is sent in this turn of the event loop. */
  send(calls: readonly Call[], recipient: Recipient, soon = false): void {
    const taken = this.#terms.takesPacks
      ? packCalls(calls)
      : calls.flatMap((call) => (call.pack ? call.unpack(call.pack) : call));
    this.#tasks.expect(taken);
    for (const call of taken) {
      const task = this.#tasks.begin(call);
      call.send(task, recipient);
      const refusal = this.#terms.refusal(call, this.#outbox.inlineBytes);
      if (refusal === undefined) this.#sender.task(task, call);
      else process.nextTick(() => this.#refuse(task, call, refusal));
    }
    this.#tasks.tellIfWaitedFor();
    if (soon) this.#outbox.schedule(true);
    else this.#outbox.flush();
  }

  /** The worker cannot have the call. */
  #refuse(task: SentTask, call: Call, refusal: Error): void {
    if (task.call !== call) return;
    this.#release(task);
    if (refusal instanceof RpcError) call.owner?.rejected(call, refusal);
    else call.fail(refusal);
  }

  /** Tells the worker what has changed in a pool, if it runs tasks that may make calls there. */
  refresh(pool: PoolReference): void {
    if (this.#state === "open" && this.inFlight > 0) this.#sender.refresh(pool);
  }

  /** The calls of `recipient` in flight that somebody waits for. */
  callsOf(recipient: Recipient): Call[] {
    return this.#tasks.waitedFor().flatMap(({ call }) => (call.recipient === recipient ? [call] : []));
  }

  step(task: SentTask, kind: StepKind, value: unknown, after: number, encoded: EarlyValue | undefined): void {
    this.#sender.step(task, kind, value, after, this.inFlight <= 1, encoded);
  }

  credit(task: SentTask, steps: number): void {
    this.#sender.credit(task, steps, this.inFlight <= 1);
  }

  setWaitedFor(task: SentTask, isWaitedFor: boolean): void {
    this.#tasks.setWaitedFor(task, isWaitedFor);
  }

  abortSignal(task: SentTask, number: number, reason: unknown): void {
    if (this.#state !== "closed") this.#sender.abortSignal(task, number, reason);
  }

  cancel(task: SentTask, reason: unknown): void {
    if (this.#state === "closed") return;
    const unstarted = task.state === "sent";
    task.state = "abandoned";
    task.call = undefined;
    this.#outcomes.payloads.dropChunks(task.id);
    this.#sender.cancel(task, reason);
    if (unstarted) this.window.started(task.size);
    this.window.unload(task);
    // A worker answers every task that it was sent. It never saw one whose arguments were still on their way.
    if (!task.isWritten) this.#release(task);
    else if (this.#stream.isDirect) this.#unwanted.add(task);
    this.#progressLater();
  }

  /** Ends the session. Calls in flight are lost. */
  close(error: Error): void {
    if (this.#state === "closed") return;
    this.#stream.cancel();
    this.#shut(error);
  }

  /**
   * Reports room in the next turn of the event loop. Calls are often cancelled together, and a call that is about to be
   * cancelled should not take the room of another.
   */
  #progressLater(): void {
    if (this.#willProgress) return;
    this.#willProgress = true;
    setImmediate(() => {
      this.#willProgress = false;
      if (this.#state !== "closed") this.#events.progressed(this);
    });
  }

  #message(buffer: Buffer, start: number, end: number): void {
    this.messages++;
    const frame = this.#reader.open(buffer, start, end);
    if (this.#state === "opening") {
      this.#greeted(frame);
      return;
    }
    let started = 0;
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
      switch (kind) {
        case ResponseField.result:
        case ResponseField.raised:
        case ResponseField.yielded:
          started += this.#outcome(frame, kind);
          break;
        case ResponseField.accepted:
          started += this.#started(this.#tasks.get(frame.integer(1)));
          break;
        case ResponseField.chunk:
          // Pieces of an outcome that nobody waits for any more may still arrive.
          if (this.#tasks.get(frame.integer(ChunkField.id))?.call !== undefined)
            this.#outcomes.payloads.addChunk(frame);
          break;
        case ResponseField.rejected:
          started += this.#rejected(frame);
          break;
        case ResponseField.dependency:
          this.#outcomes.received.add(frame);
          break;
        case ResponseField.pace:
          this.#paced(frame.integer(PaceField.taskUs), frame.integer(PaceField.costUs));
          break;
        case ResponseField.wanted:
          this.#provide(frame.integer(WantedField.number), frame.integer(WantedField.withoutFile) === 1);
          break;
        case ResponseField.executorLost:
          this.#threadLost(frame);
          return;
      }
    }
    if (started > 0) this.window.started(started);
    this.#events.progressed(this);
  }

  /** The worker reports the time that each task kept the thread busy. */
  #paced(taskUs: number, costUs: number): void {
    this.window.pace(taskUs);
    this.#endedTasks.measured(costUs > 0 ? costUs : taskUs);
  }

  /** Sends a shared value, and counts it for the pool of a call that uses it. */
  #provide(number: number, withoutFile: boolean): void {
    const content = this.#sender.provide(number, withoutFile);
    if (content === undefined) return;
    const tally = this.#tasks.waitedFor().find(({ call }) => call.uses(content))?.call.recipient?.tally;
    if (tally === undefined) return;
    tally.shared ??= { values: 0, bytes: 0 };
    tally.shared.values++;
    tally.shared.bytes += content.bytes;
  }

  /** The task thread is gone. Its last messages may still be on their way. */
  #threadLost(frame: FrameReader): void {
    const culprit = this.#tasks.nameOf(frame.integer(LostField.task) - 1);
    const whose = culprit === undefined ? "" : ` (the task was ${culprit})`;
    const text = `a task thread of worker ${this.#address} ended: ${frame.text(LostField.reason)}${whose}`;
    const lost = { error: new WorkerLost(text), taken: frame.integer(LostField.taken) || Number.POSITIVE_INFINITY };
    this.#stream.finish(() => {
      this.#stream.cancel();
      this.#shut(lost.error, lost);
    });
  }

  /** The first message must be a welcome in a version that this caller speaks, and nothing else. */
  #greeted(frame: FrameReader): void {
    let welcome: Required<Welcome>;
    try {
      welcome = this.#terms.read(frame);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      this.#stream.cancel();
      this.#shut(error);
      return;
    }
    // A worker may claim to share files although this caller offered none.
    if (welcome.sharesFiles && this.#address.startsWith("unix:")) {
      this.#outbox.store = payloadFiles;
      this.#outcomes.payloads.store = payloadFiles;
    }
    this.#outbox.oneKind = welcome.oneKind;
    this.#sender.readsReasons = welcome.encodings.includes(DEFAULT_ENCODING);
    this.#stream.useLane(welcome, () => {
      if (this.#state !== "opening") return;
      this.#state = "open";
      this.#welcomed?.(welcome);
      this.#events.progressed(this);
    });
  }

  /** How many calls were started, if this is the first message that shows it. Otherwise 0. */
  #started(task: SentTask | undefined): number {
    if (task === undefined || task.state !== "sent") return 0;
    task.state = "started";
    this.window.unload(task);
    task.call?.start();
    return task.size;
  }

  #outcome(frame: FrameReader, kind: number): number {
    const id = frame.integer(OutcomeField.id);
    const task = this.#tasks.get(id);
    if (task === undefined) return 0;
    const started = this.#started(task);
    const { call } = task;
    if (kind !== ResponseField.yielded) {
      const ended = kind === ResponseField.result ? Math.max(1, frame.count(OutcomeField.items)) : 1;
      const cost = call?.route.cost;
      if (cost !== undefined) this.#endedTasks.add(cost, ended);
      this.#tasks.ended(task, ended);
      if (task.left <= 0 || frame.integer(OutcomeField.item) === 0) this.#release(task);
    }
    if (call !== undefined) this.#outcomes.take(frame, kind, id, call);
    else this.#outcomes.drop(frame, id);
    return started;
  }

  #rejected(frame: FrameReader): number {
    const task = this.#tasks.get(frame.integer(RejectedField.id));
    if (task === undefined) return 0;
    const counts = task.state === "sent" ? task.size : 0;
    const { call } = task;
    this.#release(task);
    if (call === undefined) return counts;
    if (frame.has(RejectedField.codeWanted)) {
      const hashes = frame.text(RejectedField.codeWanted).split(" ");
      remake(call, hashes, frame.text(RejectedField.message), this.#address);
    } else {
      const status = { code: frame.integer(RejectedField.status), message: frame.text(RejectedField.message) };
      call.owner?.rejected(call, errorForStatus(status as GrpcStatus, this.#address));
    }
    return counts;
  }

  /** The worker has sent its final answer to a task. */
  #release(task: SentTask): void {
    this.window.unload(task);
    this.#tasks.release(task);
  }

  #ended(status: GrpcStatus, isWhole: boolean): void {
    if (this.#state === "closed") return;
    // The worker has answered every call that it ran.
    const ranAll = status.code === StatusCode.ABORTED && isWhole;
    if (ranAll) this.#shut(errorForStatus({ ...status, code: StatusCode.UNAVAILABLE }, this.#address), "rejected");
    else if (this.#state === "opening" || status.code !== StatusCode.UNAVAILABLE) {
      this.#shut(errorForStatus(status, this.#address));
    } else {
      // The message of the channel also names the address.
      const [, reason = status.message] = status.message.split(`${this.#address} was lost: `);
      this.#shut(new WorkerLost(`worker ${this.#address} was lost: ${reason.replace(/\.$/, "")}`));
    }
  }

  /** `unanswered`: how the unanswered calls end. */
  #shut(error: Error, unanswered: Unanswered = "lost"): void {
    const opening = this.#state === "opening";
    this.#state = "closed";
    this.#outbox.close();
    this.#sender.close();
    this.#unwanted.close();
    this.#outcomes.payloads.clear();
    if (opening) {
      // The code that opened the session may not wait for it any more. The calls learn of the failure through `closed`.
      this.welcome.catch(() => undefined);
      const unavailable = { code: StatusCode.UNAVAILABLE, message: error.message };
      this.#refused?.(error instanceof RpcError ? error : errorForStatus(unavailable, this.#address));
    }
    const tasks = this.#tasks.waitedFor();
    this.#tasks.clear();
    this.#events.closed(this, error);
    endUnanswered(tasks, error, unanswered);
  }
}
