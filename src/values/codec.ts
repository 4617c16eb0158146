import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

let encoder: ValueEncoder | undefined;
let decoder: ValueDecoder | undefined;

/**
 * The payload of `value`, as a copy. The dependencies of functions in it are not included.
 *
 * @param rootName - what the value is called in the path of an error, default "value"
 * @throws SerializationError when something in the value cannot travel
 */
export function encode(value: unknown, rootName?: string): Uint8Array {
  encoder ??= new ValueEncoder();
  return encoder.keep(encoder.encode(value, rootName));
}

/**
 * The value whose payload is `bytes`.
 *
 * @throws MalformedPayload when the bytes are not a payload
 */
export function decode(bytes: Uint8Array): unknown {
  decoder ??= new ValueDecoder();
  return decoder.decode(bytes);
}
