/** Bytes in front of each gRPC message: a flag and the length. */
export const PREFIX_BYTES = 5;

/** A copy of a message with room for the prefix in front, as `send` needs it. */
export function frameMessage(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + message.length);
  framed.set(message, PREFIX_BYTES);
  return framed;
}
