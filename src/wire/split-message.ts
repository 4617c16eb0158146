/** How messages are split for a peer. */
export interface MessageCut {
  /** Largest message, in bytes. A single frame that is larger stays whole. */
  readonly limit: number;
  /** Frames of one kind each. */
  readonly oneKind: boolean;
}

/** Splits a message that this process wrote. Each part has `headroom` free bytes in front, as the message has. */
export function splitMessage(message: Buffer, headroom: number, { limit, oneKind }: MessageCut): Buffer[] {
  const parts: Buffer[] = [];
  let [start, kind] = [headroom, message[headroom]];
  for (let position = headroom; position < message.length; ) {
    const tag = message[position];
    const end = frameEnd(message, position + 1);
    if (position > start && (end - start > limit || (oneKind && tag !== kind))) {
      parts.push(withHeadroom(message, start, position, headroom));
      start = position;
    }
    kind = tag;
    position = end;
  }
  if (parts.length === 0) return [message];
  parts.push(withHeadroom(message, start, message.length, headroom));
  return parts;
}

function withHeadroom(message: Buffer, start: number, end: number, headroom: number): Buffer {
  const part = Buffer.allocUnsafeSlow(headroom + end - start);
  message.copy(part, headroom, start, end);
  return part;
}

/** Where the frame ends whose length is at `position`. */
function frameEnd(message: Buffer, position: number): number {
  let [length, scale] = [0, 1];
  for (let i = position; ; i++, scale *= 0x80) {
    const byte = message[i] as number;
    length += (byte & 0x7f) * scale;
    if (byte < 0x80) return i + 1 + length;
  }
}
