import { type FunctionPort, functionPort } from "./function-port.ts";
import { GraphReader } from "./graph-reader.ts";

/** Options of `ValueDecoder.decode`. */
export interface DecodeOptions {
  /** The bytes will not be used for anything else, so that large binary data may stay in them; default false. */
  readonly owned?: boolean;
}

/** Turns bytes into values. Keeps caches, so one decoder is to be used for many payloads. */
export class ValueDecoder {
  readonly #port: FunctionPort;
  /** The reader while nobody uses it: putting a value together may decode another one. */
  #idle: GraphReader | undefined;

  constructor(port: FunctionPort = functionPort()) {
    this.#port = port;
    this.#idle = new GraphReader(port);
  }

  /**
   * The value whose payload is in `bytes` from `start` (default 0) to `end` (default their length).
   *
   * @throws MalformedPayload when the bytes are not a payload
   */
  decode(bytes: Uint8Array, start = 0, end = bytes.length, options?: DecodeOptions): unknown {
    const reader = this.#idle ?? new GraphReader(this.#port);
    this.#idle = undefined;
    try {
      return reader.read(bytes, start, Math.min(end, bytes.length), options?.owned === true);
    } finally {
      reader.clear();
      this.#idle = reader;
    }
  }
}
