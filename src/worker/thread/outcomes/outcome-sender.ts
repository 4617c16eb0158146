import { dumpWith, type Serializer, type ValueEncoder, type WeakCollection } from "../../../values/index.ts";
import {
  INLINE_LIMIT_BYTES,
  type Outbox,
  type OutcomeFrame,
  ResponseField,
  SentDependencies,
  STORE_FROM_BYTES,
  writeAccepted,
  writeOutcome,
  writeSmallOutcome,
} from "../../../wire/index.ts";
import { ResultRun } from "./result-run.ts";

/** The name of a payload in error messages, if it is not the result. */
const ROOT_NAMES: ReadonlyMap<number, string> = new Map([
  [ResponseField.yielded, "yielded"],
  [ResponseField.raised, "error"],
]);
const NONE: readonly number[] = Object.freeze([]);

/** Writes the outcomes of a session's tasks, and remembers which code the caller has been told of. */
export class OutcomeSender {
  readonly #outbox: Outbox;
  readonly #encoder: ValueEncoder;
  readonly #sent = new SentDependencies();
  readonly #results: ResultRun;

  constructor(outbox: Outbox, encoder: ValueEncoder) {
    this.#outbox = outbox;
    this.#encoder = encoder;
    this.#results = new ResultRun(outbox.writer);
  }

  /**
   * Encodes what a task returned, yielded or threw. Throws when it cannot travel. Serializers never get `undefined`.
   *
   * @param flag - see `writeOutcome`
   * @param item - the number of the call in its pack, from 1
   */
  outcome(
    frame: OutcomeFrame,
    id: number,
    value: unknown,
    serializer: Serializer | undefined,
    flag: boolean,
    weak: readonly WeakCollection[],
    item: number,
  ): void {
    const outbox = this.#outbox;
    const { writer } = outbox;
    const encoder = this.#encoder;
    if (serializer !== undefined && value === undefined) {
      this.#results.write();
      outbox.inOrder(id, () => writeOutcome(writer, frame, id, {}, NONE, flag, item));
      return;
    }
    const rootName = frame === ResponseField.result ? "result" : (ROOT_NAMES.get(frame) ?? "result");
    const bytes =
      serializer !== undefined
        ? dumpWith(serializer, value, rootName)
        : frame === ResponseField.raised
          ? encoder.encodeThrown(value, rootName, weak)
          : encoder.encodeInParts(value, rootName, weak);
    const dependencies = serializer === undefined ? encoder.takeDependencies() : [];
    const small = bytes instanceof Uint8Array && bytes.length <= STORE_FROM_BYTES;
    if (small && dependencies.length === 0 && !flag && !outbox.isHeldUp(id)) {
      if (item > 0 && frame === ResponseField.result) return this.#results.add(id, item, bytes);
      this.#results.write();
      return writeSmallOutcome(writer, frame, id, bytes, item);
    }
    this.#results.write();
    const needs =
      dependencies.length === 0 ? NONE : this.#sent.announce(writer, ResponseField.dependency, dependencies);
    // A large outcome takes a while to send. The caller first learns that the task was started.
    if (bytes.length > INLINE_LIMIT_BYTES) writeAccepted(writer, id);
    outbox.place(id, bytes, (place) => {
      writeOutcome(writer, frame, id, place, needs, flag, item);
      outbox.schedule(true);
    });
  }

  /** Writes the results that it has collected. Call this before a message is sent. */
  write(): void {
    this.#results.write();
  }
}
