import type { Call } from "../call/index.ts";
import { messageOf } from "../checks/index.ts";
import { CodeUnavailable, SerializationError, UnexpectedResponse } from "../errors.ts";
import { acceptDependency } from "../functions/index.ts";
import { functionPort, NotData, type Serializer, serializerOfThrown, ValueDecoder } from "../values/index.ts";
import {
  type CallerLimits,
  DEFAULT_LIMITS,
  type FrameReader,
  IncomingPayloads,
  MalformedFrame,
  OutcomeField,
  Payload,
  ReceivedDependencies,
  ResponseField,
} from "../wire/index.ts";

const decoder = new ValueDecoder();
const dataDecoder = new ValueDecoder(functionPort(), { dataOnly: true });

/** Finds and decodes what a worker sent back, and tells the calls in the order in which it came. */
export class OutcomeDelivery {
  /** Values, wherever they arrive. */
  readonly payloads: IncomingPayloads;
  /** Code that values need. */
  readonly received: ReceivedDependencies;
  readonly #abandon: (call: Call, reason: Error) => void;
  /** Tail of the answers that wait for code. Later answers keep their place behind it. */
  #delayed: Promise<void> | undefined;
  /** Tail of the large answers of a call that are being read. Only answers of the same call wait behind them. */
  readonly #reading = new Map<Call, Promise<void>>();

  /** `abandon` tells the worker that nobody waits for a call whose answer cannot be read. */
  constructor(abandon: (call: Call, reason: Error) => void, limits: CallerLimits = {}) {
    this.#abandon = abandon;
    const complete = { ...DEFAULT_LIMITS, ...limits };
    this.payloads = new IncomingPayloads(complete);
    this.received = new ReceivedDependencies(
      (dependency) => acceptDependency(dependency, { importing: false }),
      complete,
    );
  }

  /** Delivers the payload of an outcome, at once or when the code that it needs has arrived. */
  take(frame: FrameReader, kind: number, id: number, call: Call): void {
    try {
      this.#take(frame, kind, id, call);
    } catch (error) {
      // This error ends the session. It must tell a call here that the session does not have any more.
      const reason = messageOf(error);
      if (call.task === undefined) call.fail(unreadable(call, reason, error));
      throw error;
    }
  }

  /** Frees the payload of an outcome that nobody wants. */
  drop(frame: FrameReader, id: number): void {
    this.payloads.drop(frame, id, OutcomeField);
  }

  #take(frame: FrameReader, kind: number, id: number, call: Call): void {
    const flag = frame.integer(OutcomeField.control) === 1;
    const item = frame.integer(OutcomeField.item);
    const needs = this.received.needs(frame, OutcomeField.needs);
    const loading = needs.length === 0 ? undefined : this.received.ready(needs);
    const isNext = loading === undefined && this.#delayed === undefined;
    if (kind === ResponseField.result && frame.has(OutcomeField.items)) {
      const lengths = frame.integers(OutcomeField.items);
      const payload = this.payloads.take(frame, id, OutcomeField);
      checkRun(lengths, payload);
      if (isNext) return this.#deliverRun(call, payload, item, lengths);
      payload.hold();
      this.#deliverLater(loading, () => this.#deliverRun(call, payload, item, lengths));
      return;
    }
    // Almost every outcome takes this path: it is read in place.
    if (isNext && this.payloads.isInline(frame, OutcomeField)) {
      this.#deliver(call, kind, frame, flag, item);
      return;
    }
    const payload = this.payloads.take(frame, id, OutcomeField);
    if (isNext) {
      this.#deliver(call, kind, payload, flag, item);
      return;
    }
    // The worker may be gone when the code arrives, and its stored payloads with it.
    payload.hold();
    this.#deliverLater(loading, () => this.#deliver(call, kind, payload, flag, item));
  }

  /** Decodes a value from a payload or from the frame itself, and tells the call. `flag`, `item`: see `writeOutcome`. */
  #deliver(call: Call, kind: number, source: Payload | FrameReader, flag: boolean, item: number): void {
    let value: unknown;
    try {
      const { extras } = call;
      const serializer = serializerFor(kind, flag, extras?.serializer);
      const used = extras?.dataOnly === true ? dataDecoder : decoder;
      if (source instanceof Payload) {
        if (source.isLarge) {
          const reading = source.readInSlices(used, serializer, () => call.state !== "ended");
          this.#afterReading(call, kind, flag, item, reading.done, () => reading.value());
          return;
        }
        value = source.read(used, serializer);
      } else {
        const [start, end] = [source.start(OutcomeField.value), source.end(OutcomeField.value)];
        value =
          serializer === undefined
            ? used.decode(source.buffer, start, end)
            : serializer.loads(source.buffer.subarray(start, end));
      }
    } catch (cause) {
      if (source instanceof Payload) source.drop();
      this.#unreadable(call, kind, cause, item);
      return;
    }
    if (this.#reading.size > 0 && this.#reading.has(call)) {
      this.#afterReading(call, kind, flag, item, undefined, () => value);
    } else this.#settle(call, kind, value, flag, item);
  }

  /**
   * Decodes the results of calls of a pack that follow each other, and tells the call.
   *
   * @param first - the number of the first of these calls, from 1
   * @param lengths - how many bytes each result has
   */
  #deliverRun(call: Call, payload: Payload, first: number, lengths: readonly number[]): void {
    if (call.pack === undefined) return this.#unasked(call);
    const { buffer, start: begin } = payload.intoMemory();
    const used = call.extras?.dataOnly === true ? dataDecoder : decoder;
    let values: unknown[] = [];
    let from = first - 1;
    const tell = (): void => {
      if (values.length > 0 && !call.returnItems(from, values)) this.#unasked(call);
    };
    let end = begin;
    for (let index = 0; index < lengths.length; index++) {
      const start = end;
      end += lengths[index] ?? 0;
      try {
        values.push(used.decode(buffer, start, end));
      } catch (cause) {
        tell();
        this.#unreadable(call, ResponseField.result, cause, first + index);
        values = [];
        from = first + index;
      }
    }
    tell();
  }

  /** Tells a call its outcome when it has been read and the earlier ones have been told. */
  #afterReading(
    call: Call,
    kind: number,
    flag: boolean,
    item: number,
    reading: Promise<void> | undefined,
    value: () => unknown,
  ): void {
    const turn = (this.#reading.get(call) ?? Promise.resolve())
      .then(() => reading)
      .then(() => {
        if (call.state !== "ended") this.#settle(call, kind, value(), flag, item);
      })
      .catch((cause: unknown) => this.#unreadable(call, kind, cause, item))
      .finally(() => {
        if (this.#reading.get(call) === turn) this.#reading.delete(call);
      });
    this.#reading.set(call, turn);
    // The chain above handles the error in its turn.
    reading?.catch(() => undefined);
  }

  #unreadable(call: Call, kind: number, cause: unknown, item: number): void {
    const error = cause instanceof NotData ? notData(call, kind, cause) : unreadable(call, messageOf(cause), cause);
    if (item > 0 && call.failItem(item - 1, error)) return;
    this.#abandon(call, error);
    call.fail(error);
  }

  #settle(call: Call, kind: number, value: unknown, flag: boolean, item: number): void {
    if (!settle(call, kind, value, flag, item)) this.#unasked(call);
  }

  #unasked(call: Call): void {
    const error = new UnexpectedResponse(`the worker sent more values of ${call.route.name} than were asked for`);
    this.#abandon(call, error);
    call.fail(error);
  }

  /** Keeps the order of answers while one of them waits for code. */
  #deliverLater(loading: Promise<unknown> | undefined, deliver: () => void): void {
    const turn = (this.#delayed ?? Promise.resolve()).then(() => loading).then(deliver, deliver);
    this.#delayed = turn;
    void turn.finally(() => {
      if (this.#delayed === turn) this.#delayed = undefined;
    });
  }
}

/** The user's serializer does not read the errors of the runtime itself. */
function serializerFor(kind: number, flag: boolean, serializer: Serializer | undefined): Serializer | undefined {
  if (kind !== ResponseField.raised) return serializer;
  return flag ? undefined : serializerOfThrown(serializer);
}

function checkRun(lengths: readonly number[], payload: Payload): void {
  let bytes = 0;
  for (const length of lengths) bytes += length;
  if (lengths.length === 0 || bytes !== payload.length)
    throw new MalformedFrame("the results of a pack do not fit their frame");
}

function unreadable(call: Call, reason: string, cause: unknown): UnexpectedResponse {
  return new UnexpectedResponse(`the answer of ${call.route.name} cannot be read: ${reason}`, { cause });
}

function notData({ route }: Call, kind: number, { message }: NotData): SerializationError {
  const what = kind === ResponseField.result ? "result" : kind === ResponseField.raised ? "error" : "yielded";
  return new SerializationError(
    `${what}: ${route.name} sent back a value that ${message}, and results: "data" accepts neither functions nor ` +
      "instances of unknown classes. Return plain data, or import the class where the call is made.",
    what,
  );
}

/** Tells a call its outcome, or the next step of its generator. False for a value that nobody asked for. */
function settle(call: Call, kind: number, value: unknown, flag: boolean, item: number): boolean {
  if (item > 0 && kind === ResponseField.result) return call.returnItems(item - 1, [value]);
  if (item > 0) return call.failItem(item - 1, value);
  if (call.pack !== undefined && kind === ResponseField.result) return false;
  if (kind === ResponseField.result) call.succeed(value);
  else if (kind === ResponseField.raised) call.raise(value);
  else return call.yield(value, flag);
  return true;
}

/**
 * The worker lacks the modules of these hashes: the call is made anew with their code, or fails with the worker's
 * reason.
 */
export function remake(call: Call, hashes: readonly string[], message: string, address: string): void {
  const { args } = call;
  let remade = false;
  try {
    remade = call.remake?.(call, hashes, message) === true;
  } catch (error) {
    call.fail(error);
    return;
  } finally {
    if (!remade || call.args !== args) args.drop();
  }
  if (remade) call.owner?.remade(call);
  else call.fail(new CodeUnavailable(`worker ${address}: ${message}`));
}
