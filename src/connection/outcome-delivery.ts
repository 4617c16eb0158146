import type { Call } from "../call/index.ts";
import { UnexpectedResponse } from "../errors.ts";
import { acceptDependency } from "../functions/index.ts";
import { dropPayloadFile, takePayloadFile, usePayloadFile } from "../host/index.ts";
import { ValueDecoder } from "../values/index.ts";
import { ChunkAssembly, type FrameReader, OutcomeField, ReceivedDependencies, ResponseField } from "../wire/index.ts";

const OWNED = { owned: true } as const;

const decoder = new ValueDecoder();

/** Finds what a worker sent back, decodes it and tells the calls, in the order in which it came. */
export class OutcomeDelivery {
  /** Large values that are still arriving. */
  readonly chunks = new ChunkAssembly();
  /** Code that values need. */
  readonly received = new ReceivedDependencies((dependency) => acceptDependency(dependency, { importing: false }));
  readonly #abandon: (call: Call, reason: Error) => void;
  /** Tail of the answers that wait for code to arrive; later ones keep their place behind it. */
  #delayed: Promise<void> | undefined;

  /** `abandon` tells the worker that nobody waits for a call whose answer cannot be read. */
  constructor(abandon: (call: Call, reason: Error) => void) {
    this.#abandon = abandon;
  }

  /** Hands the payload of an outcome on, now or when the code that it needs is there. */
  take(frame: FrameReader, kind: number, id: number, call: Call): void {
    try {
      this.#take(frame, kind, id, call);
    } catch (error) {
      // The session ends with this; a call that is no longer its own must be told here.
      const reason = error instanceof Error ? error.message : String(error);
      if (call.task === undefined) call.fail(unreadable(call, reason, error));
      throw error;
    }
  }

  /** Frees what an outcome that nobody wants brought. */
  drop(frame: FrameReader, id: number): void {
    this.chunks.drop(id);
    if (frame.has(OutcomeField.file)) {
      dropPayloadFile(frame.text(OutcomeField.file), frame.integer(OutcomeField.chunked));
    }
  }

  /** Decodes the bytes of a value and tells the call. `owned`: nobody else uses the buffer. `mark`: see `writeOutcome`. */
  deliver(call: Call, kind: number, buffer: Buffer, from: number, to: number, owned: boolean, mark: boolean): void {
    let value: unknown;
    try {
      const serializer = isForSerializer(kind, mark) ? call.extras?.serializer : undefined;
      value =
        serializer === undefined
          ? decoder.decode(buffer, from, to, owned ? OWNED : undefined)
          : serializer.loads(buffer.subarray(from, to));
    } catch (cause) {
      this.#unreadable(call, cause);
      return;
    }
    settle(call, kind, value, mark);
  }

  #take(frame: FrameReader, kind: number, id: number, call: Call): void {
    const length = frame.integer(OutcomeField.chunked);
    const file = frame.has(OutcomeField.file) ? frame.text(OutcomeField.file) : undefined;
    const mark = frame.integer(OutcomeField.control) === 1;
    const loading = frame.has(OutcomeField.needs) ? this.received.ready(frame.integers(OutcomeField.needs)) : undefined;
    if (loading === undefined && this.#delayed === undefined) {
      if (length === 0 && !frame.has(OutcomeField.value)) {
        settle(call, kind, undefined, mark);
      } else if (file !== undefined && call.extras?.serializer !== undefined) {
        // A serializer of the user's may keep the bytes; our own decoder does not.
        this.deliver(call, kind, takePayloadFile(file, length), 0, length, true, mark);
      } else if (file !== undefined) {
        this.#deliverFile(call, kind, file, length, mark);
      } else if (length > 0) {
        this.deliver(call, kind, this.chunks.take(id, length), 0, length, true, mark);
      } else {
        const { buffer } = frame;
        const end = frame.end(OutcomeField.value);
        this.deliver(call, kind, buffer, frame.start(OutcomeField.value), end, false, mark);
      }
      return;
    }
    let payload = frame.view(OutcomeField.value);
    if (file !== undefined) payload = takePayloadFile(file, length);
    else if (length > 0) payload = this.chunks.take(id, length);
    const owned = length > 0;
    this.#deliverLater(loading, () => this.deliver(call, kind, payload, 0, payload.length, owned, mark));
  }

  /** A file that is none is a fault of the session, what is in it one of the call. */
  #deliverFile(call: Call, kind: number, file: string, length: number, mark: boolean): void {
    usePayloadFile(file, length, (source) => {
      let value: unknown;
      try {
        value = decoder.decodeFrom(source);
      } catch (cause) {
        this.#unreadable(call, cause);
        return;
      }
      settle(call, kind, value, mark);
    });
  }

  #unreadable(call: Call, cause: unknown): void {
    const error = unreadable(call, cause instanceof Error ? cause.message : String(cause), cause);
    this.#abandon(call, error);
    call.fail(error);
  }

  /** Keeps the order of answers while one of them waits for code. */
  #deliverLater(loading: Promise<void> | undefined, deliver: () => void): void {
    const turn = (this.#delayed ?? Promise.resolve()).then(() => loading).then(deliver, deliver);
    this.#delayed = turn;
    void turn.finally(() => {
      if (this.#delayed === turn) this.#delayed = undefined;
    });
  }
}

/** What the runtime has to say itself is not for a serializer of the user's. */
function isForSerializer(kind: number, mark: boolean): boolean {
  return kind !== ResponseField.raised || !mark;
}

function unreadable(call: Call, reason: string, cause: unknown): UnexpectedResponse {
  return new UnexpectedResponse(`what ${call.route.name} sent back cannot be read: ${reason}`, { cause });
}

/** Tells a call what came of it. */
function settle(call: Call, kind: number, value: unknown, mark: boolean): void {
  if (kind === ResponseField.result) call.succeed(value);
  else if (kind === ResponseField.raised) call.raise(value);
  else call.stream?.yielded(value, mark);
}
