/** A message that violates the protocol. */
export class MalformedFrame extends Error {
  override readonly name = "MalformedFrame";
}

const MAX_FIELDS = 16;
/** Most fields of one frame, unknown ones included. Valid frames have at most two dozen. */
const MOST_FIELDS_IN_FRAME = 10_000;
/** Most unknown frames that are skipped at a time. */
const MOST_PASSED_OVER = 256;
/** The result of `next` when it has skipped many unknown frames. */
export const PASSED_OVER = -1;
const NO_MESSAGE = Buffer.alloc(0);
const NO_NUMBERS: readonly number[] = Object.freeze([]);

/**
 * Walks the frames of a batch without allocating: `next()` moves to the next frame, and the fields of that frame are
 * read by number. Fields of unknown numbers are skipped, as protobuf requires. Throws {@link MalformedFrame} for
 * truncated or invalid bytes.
 */
export class FrameReader {
  /** The message being read. */
  buffer: Buffer = NO_MESSAGE;
  #position = 0;
  #limit = 0;
  #frameStart = 0;
  /** Which fields the current frame has, by the kind that they came as. One of the wrong kind is empty. */
  #integers = 0;
  #spans = 0;
  readonly #numbers = new Float64Array(MAX_FIELDS);
  readonly #starts = new Float64Array(MAX_FIELDS);
  readonly #ends = new Float64Array(MAX_FIELDS);

  readonly #lastFrame: number;

  /** `lastFrame`: the highest frame number that the reader knows; frames beyond are skipped. */
  constructor(lastFrame: number) {
    this.#lastFrame = lastFrame;
  }

  /** Begins with another message: a part of `buffer`. */
  open(buffer: Buffer, start: number, end: number): this {
    this.buffer = buffer;
    this.#position = start;
    this.#limit = end;
    return this;
  }

  /**
   * Moves to the next frame and returns its field number, or 0 at the end of the batch. Returns `PASSED_OVER` when it
   * has skipped so many unknown frames that the reader should let other work run.
   */
  next(): number {
    const limit = this.#limit;
    for (let passed = 0; this.#position < limit; passed++) {
      if (passed === MOST_PASSED_OVER) return PASSED_OVER;
      const tag = this.#varint(limit);
      const field = tag >>> 3;
      if ((tag & 7) !== 2) {
        this.#skip(tag & 7, limit);
        continue;
      }
      const length = this.#varint(limit);
      const end = this.#position + length;
      if (end > limit) throw new MalformedFrame(`frame of ${length} bytes reaches past the end of its message`);
      if (field > this.#lastFrame) {
        this.#position = end;
        continue;
      }
      this.#fields(end);
      return field;
    }
    return 0;
  }

  /** Bytes of the message after the current frame. */
  get remaining(): number {
    return this.#limit - this.#position;
  }

  /** An integer field of the current frame; 0 when absent. */
  integer(field: number): number {
    return (this.#integers & (1 << field)) === 0 ? 0 : (this.#numbers[field] as number);
  }

  has(field: number): boolean {
    return ((this.#integers | this.#spans) & (1 << field)) !== 0;
  }

  /** Where a bytes field starts in `buffer`. */
  start(field: number): number {
    return (this.#spans & (1 << field)) === 0 ? 0 : (this.#starts[field] as number);
  }

  /** Where a bytes field ends in `buffer`. */
  end(field: number): number {
    return (this.#spans & (1 << field)) === 0 ? 0 : (this.#ends[field] as number);
  }

  /** A view of a bytes field. */
  view(field: number): Buffer {
    return this.buffer.subarray(this.start(field), this.end(field));
  }

  text(field: number): string {
    return this.has(field) ? this.buffer.toString("utf8", this.start(field), this.end(field)) : "";
  }

  /** A packed repeated integer field. */
  integers(field: number): readonly number[] {
    if (!this.has(field)) return NO_NUMBERS;
    const position = this.#position;
    const end = this.end(field);
    const numbers: number[] = [];
    this.#position = this.start(field);
    while (this.#position < end) numbers.push(this.#varint(end));
    this.#position = position;
    return numbers;
  }

  /** How many integers a packed repeated field has. */
  count(field: number): number {
    const end = this.end(field);
    let count = 0;
    for (let position = this.start(field); position < end; position++)
      if ((this.buffer[position] as number) < 0x80) count++;
    return count;
  }

  /** Every string of a repeated field of the current frame. */
  texts(field: number): string[] {
    const end = this.#position;
    const texts: string[] = [];
    this.#position = this.#frameStart;
    while (this.#position < end) {
      const tag = this.#varint(end);
      const isWanted = tag === ((field << 3) | 2);
      const length = (tag & 7) === 2 ? this.#varint(end) : 0;
      if (isWanted) texts.push(this.buffer.toString("utf8", this.#position, this.#position + length));
      if ((tag & 7) === 2) this.#position += length;
      else this.#skip(tag & 7, end);
    }
    this.#position = end;
    return texts;
  }

  #fields(end: number): void {
    this.#integers = 0;
    this.#spans = 0;
    this.#frameStart = this.#position;
    for (let fields = 0; this.#position < end; fields++) {
      if (fields === MOST_FIELDS_IN_FRAME)
        throw new MalformedFrame(`more than ${MOST_FIELDS_IN_FRAME} fields in a frame`);
      const tag = this.#varint(end);
      const field = tag >>> 3;
      const type = tag & 7;
      if (field === 0) throw new MalformedFrame("field number 0");
      if (field >= MAX_FIELDS || (type !== 0 && type !== 2)) {
        this.#skip(type, end);
      } else if (type === 0) {
        this.#numbers[field] = this.#varint(end);
        this.#integers |= 1 << field;
      } else {
        const length = this.#varint(end);
        const start = this.#position;
        if (start + length > end) throw new MalformedFrame(`field ${field} of ${length} bytes reaches past its frame`);
        this.#starts[field] = start;
        this.#ends[field] = start + length;
        this.#spans |= 1 << field;
        this.#position = start + length;
      }
    }
  }

  #varint(end: number): number {
    const buffer = this.buffer;
    let position = this.#position;
    if (position >= end) throw new MalformedFrame("truncated integer");
    let byte = buffer[position++] as number;
    if (byte < 0x80) {
      this.#position = position;
      return byte;
    }
    let value = byte & 0x7f;
    let scale = 0x80;
    for (let i = 1; i < 10; i++) {
      if (position >= end) throw new MalformedFrame("truncated integer");
      byte = buffer[position++] as number;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        this.#position = position;
        if (value > Number.MAX_SAFE_INTEGER) throw new MalformedFrame("integer beyond 2^53");
        return value;
      }
      scale *= 0x80;
    }
    throw new MalformedFrame("integer of more than ten bytes");
  }

  #skip(type: number, end: number): void {
    let length: number;
    if (type === 0) {
      this.#varint(end);
      return;
    }
    if (type === 1) length = 8;
    else if (type === 5) length = 4;
    else if (type === 2) length = this.#varint(end);
    else throw new MalformedFrame(`wire type ${type}`);
    if (this.#position + length > end) throw new MalformedFrame("field reaches past its frame");
    this.#position += length;
  }
}
