import {
  type BinarySection,
  DataInSource,
  HAS_BINARY,
  NOT_PLAIN,
  type PayloadSource,
  readTrailer,
  type SharedPayload,
  TRAILER_SIZE,
} from "./bytes/index.ts";
import { type FunctionPort, functionPort } from "./function-port.ts";
import { GraphReader } from "./graph/index.ts";
import { NO_COLLECTIONS, type WeakCollection } from "./weak-collections.ts";

/** The largest buffer that is kept for further payloads, in bytes. */
const LARGEST_SCRATCH_BYTES = 4 * 1024 * 1024;
/** With this many bytes of binary data for each byte of its table, reading each piece separately is worthwhile. */
const DIRECT_RATIO = 4096;

/** Options of `ValueDecoder.decode`. */
export interface DecodeOptions {
  /** The bytes will not be used for anything else, so that large binary data may stay in them; default false. */
  readonly owned?: boolean;
}

/** How a decoder is set up. */
export interface DecoderOptions {
  /** Whether functions, and instances of classes that this process does not know, are refused; default false. */
  readonly dataOnly?: boolean;
}

/** Turns bytes into values. Keeps caches, so use one decoder for many payloads. */
export class ValueDecoder {
  readonly #port: FunctionPort;
  readonly #dataOnly: boolean;
  /** The reader while it is not in use: decoding a value may decode another one. */
  #idle: GraphReader | undefined;
  /** Reused memory for payloads that are read from a source and not needed after decoding. */
  #scratch = Buffer.alloc(0);
  #collections = NO_COLLECTIONS;
  readonly #ends = Buffer.alloc(1 + TRAILER_SIZE);

  constructor(port: FunctionPort = functionPort(), { dataOnly = false }: DecoderOptions = {}) {
    this.#port = port;
    this.#dataOnly = dataOnly;
    this.#idle = new GraphReader(port, dataOnly);
  }

  /** The weak collections in the value decoded last. */
  get weakCollections(): readonly WeakCollection[] {
    return this.#collections;
  }

  /**
   * The value whose payload is in `bytes` from `start` (default 0) to `end` (default their length).
   *
   * @throws MalformedPayload when the bytes are not a payload, `NotData` when they hold more than data and `dataOnly`
   * is set
   */
  decode(bytes: Uint8Array, start = 0, end = bytes.length, options?: DecodeOptions): unknown {
    const idle = this.#idle;
    const plain = idle === undefined ? NOT_PLAIN : idle.readPlain(bytes, start, Math.min(end, bytes.length));
    if (plain !== NOT_PLAIN) {
      this.#collections = NO_COLLECTIONS;
      return plain;
    }
    const reader = this.#idle ?? new GraphReader(this.#port, this.#dataOnly);
    this.#idle = undefined;
    try {
      const value = reader.read(bytes, start, Math.min(end, bytes.length), options?.owned === true);
      this.#collections = reader.takeCollections();
      return value;
    } finally {
      reader.clear();
      this.#idle = reader;
    }
  }

  /**
   * The value whose payload is at `source`. Large binary data is read into its final place.
   *
   * @throws MalformedPayload when it is not a payload; rethrows errors of `source.read`
   */
  decodeFrom(source: PayloadSource): unknown {
    const alone = this.#idle !== undefined;
    const reader = this.#idle ?? new GraphReader(this.#port, this.#dataOnly);
    this.#idle = undefined;
    try {
      const section = this.#directSection(source);
      const head = this.#fetch(source, section?.data ?? source.length, alone);
      const value =
        section === undefined
          ? reader.read(head, 0, head.length, false)
          : reader.readHead(head, section, new DataInSource(source));
      this.#collections = reader.takeCollections();
      return value;
    } finally {
      reader.clear();
      this.#idle = reader;
    }
  }

  /**
   * The value of a payload that the threads of this process share. Its large binary data is in that memory, and
   * everything else is frozen.
   *
   * @throws MalformedPayload when it is not a payload
   */
  decodeShared(payload: SharedPayload): unknown {
    return new GraphReader(this.#port, this.#dataOnly).readShared(payload);
  }

  /** The binary section, if its data should be read piece by piece. */
  #directSection(source: PayloadSource): BinarySection | undefined {
    const { length } = source;
    const header = this.#ends.subarray(0, 1);
    source.read(header, 0);
    if (((header[0] ?? 0) & HAS_BINARY) === 0 || length < this.#ends.length) return undefined;
    const trailer = this.#ends.subarray(1);
    source.read(trailer, length - TRAILER_SIZE);
    const section = readTrailer(trailer, length);
    return length - section.data > (section.data - section.table) * DIRECT_RATIO ? section : undefined;
  }

  /** The first `length` bytes. Other payloads may be decoded while they are in use, unless `alone`. */
  #fetch(source: PayloadSource, length: number, alone: boolean): Buffer {
    let buffer = this.#scratch;
    if (!alone || buffer.length < length) {
      buffer = Buffer.allocUnsafeSlow(length);
      if (alone && length <= LARGEST_SCRATCH_BYTES) this.#scratch = buffer;
    }
    const target = buffer.subarray(0, length);
    source.read(target, 0);
    return target;
  }
}
