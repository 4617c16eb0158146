/**
 * Cuts a message that this process wrote into messages with frames of one kind each, in the same order. Each has
 * `headroom` bytes free in front, as the message has.
 */
export function splitByKind(message: Buffer, headroom: number): Buffer[] {
  const parts: Buffer[] = [];
  let [start, kind] = [headroom, 0];
  for (let position = headroom; position < message.length; ) {
    const tag = message[position] as number;
    if (tag !== kind && position > start) {
      parts.push(withHeadroom(message, start, position, headroom));
      start = position;
    }
    kind = tag;
    position = frameEnd(message, position + 1);
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
