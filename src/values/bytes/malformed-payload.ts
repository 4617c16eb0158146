/** Thrown when bytes are not a payload of this codec: truncated, inconsistent, or made by something else. */
export class MalformedPayload extends Error {
  override readonly name = "MalformedPayload";
}
