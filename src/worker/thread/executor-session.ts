import { acceptDependency } from "../../functions/index.ts";
import { StatusCode } from "../../grpc/index.ts";
import type { PeerIdentity } from "../../security/index.ts";
import { dumpWith, functionPort, type Serializer, ValueDecoder, ValueEncoder } from "../../values/index.ts";
import {
  INLINE_LIMIT_BYTES,
  IncomingPayloads,
  type MessageSink,
  Outbox,
  OutcomeField,
  type OutcomeFrame,
  type PayloadStore,
  ReceivedDependencies,
  ResponseField,
  SentDependencies,
  STORE_FROM_BYTES,
  writeAccepted,
  writeOutcome,
  writePayloadFrame,
  writeRejected,
} from "../../wire/index.ts";
import { GRPC_PREFIX_BYTES, SESSION_PREFIX_BYTES } from "../shared/index.ts";
import type { RemoteRoutine } from "./remote-routine.ts";
import type { AbortedSignal, RunningTask } from "./running-task.ts";
import { TaskTable } from "./task-table.ts";

/** What a payload is called in messages, if not the result. */
const ROOT_NAMES: ReadonlyMap<number, string> = new Map([
  [ResponseField.yielded, "yielded"],
  [ResponseField.raised, "error"],
]);
const NONE: readonly number[] = Object.freeze([]);

/** A caller's session in a task thread: what it has announced, its tasks, and the way back to it. */
export class ExecutorSession {
  /** Names the session within its worker; from 1. */
  readonly number: number;
  readonly callerId: string;
  /** Who the caller proved to be with a certificate. */
  readonly peer: PeerIdentity | undefined;
  readonly routes = new Map<number, RemoteRoutine>();
  /** The encoded descriptions of the pools that tasks come from, by number. */
  readonly pools = new Map<number, Uint8Array>();
  readonly tasks = new TaskTable();
  /** Tasks that have been started and have not ended, also those that are no longer the session's. */
  live = 0;
  /** Arguments and values for generators, wherever they arrive. */
  readonly payloads = new IncomingPayloads();
  /** Signals that were aborted before the tasks came that have them among their arguments, by task id. */
  readonly earlyAborts = new Map<number, readonly AbortedSignal[]>();
  readonly decoder = new ValueDecoder(functionPort({ isCall: true }));
  readonly #encoder: ValueEncoder;
  readonly received = new ReceivedDependencies((dependency) => acceptDependency(dependency));
  readonly outbox: Outbox;
  readonly #sent = new SentDependencies();
  /** Tasks started since the last message, which may not have ended when the next one goes out. */
  #unaccepted: RunningTask[] = [];

  /** `store`: shared with the caller; nothing when it shares none. */
  constructor(
    number: number,
    callerId: string,
    store: PayloadStore | undefined,
    sink: MessageSink,
    peer: PeerIdentity | undefined,
  ) {
    this.number = number;
    this.peer = peer;
    this.callerId = callerId;
    // What came from the caller goes back by name.
    this.#encoder = new ValueEncoder(functionPort({ destination: callerId }));
    this.outbox = new Outbox(sink, SESSION_PREFIX_BYTES + GRPC_PREFIX_BYTES, ResponseField.chunk);
    this.outbox.store = store;
    this.payloads.store = store;
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
   * Encodes what a task gave back. Throws when it cannot travel. What is undefined is not a serializer's business.
   *
   * @param flag - see `writeOutcome`
   */
  outcome(frame: OutcomeFrame, id: number, value: unknown, serializer: Serializer | undefined, flag: boolean): void {
    const { outbox } = this;
    const { writer } = outbox;
    const encoder = this.#encoder;
    if (serializer !== undefined && value === undefined) {
      outbox.inOrder(id, () => writeOutcome(writer, frame, id, {}, NONE, flag));
      return;
    }
    const rootName = ROOT_NAMES.get(frame) ?? "result";
    const encode = frame === ResponseField.raised ? "encodeThrown" : "encodeInParts";
    const bytes = serializer === undefined ? encoder[encode](value, rootName) : dumpWith(serializer, value, rootName);
    const dependencies = serializer === undefined ? encoder.dependencies : [];
    const small = bytes instanceof Uint8Array && bytes.length <= STORE_FROM_BYTES;
    if (small && dependencies.length === 0 && !flag && !outbox.isHeldUp(id)) {
      writePayloadFrame(writer, frame, id, OutcomeField.value, bytes);
      return;
    }
    const needs =
      dependencies.length === 0 ? NONE : this.#sent.announce(writer, ResponseField.dependency, dependencies);
    // The outcome may be long on its way; that the task was started is not to wait for it.
    if (bytes.length > INLINE_LIMIT_BYTES) writeAccepted(writer, id);
    outbox.place(id, bytes, (place) => {
      writeOutcome(writer, frame, id, place, needs, flag);
      outbox.schedule(true);
    });
  }

  reject(id: number, status: number, message: string): void {
    writeRejected(this.outbox.writer, id, { status, message });
  }

  /** The task was not run, for want of modules: their code may be sent instead. */
  wantCode(id: number, message: string, hashes: readonly string[]): void {
    writeRejected(this.outbox.writer, id, { status: StatusCode.NOT_FOUND, message, codeWanted: hashes });
  }
}
