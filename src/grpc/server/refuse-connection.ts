import { constants } from "node:http2";
import type { Socket } from "node:net";

/** Types of HTTP/2 frames, and the length of a frame header. */
const SETTINGS = 0x4;
const GOAWAY = 0x7;
const HEAD_BYTES = 9;

/** How long a refused client may take to read the reason, in milliseconds. */
const FAREWELL_MS = 1000;

/**
 * Refuses a client before it can send a request, and tells it why in HTTP/2. A connection that is just dropped would
 * look like a worker that does not run.
 */
export function refuseConnection(socket: Socket, reason: string): void {
  const text = Buffer.from(reason, "utf8");
  const goaway = Buffer.alloc(8 + text.length);
  goaway.writeUInt32BE(constants.NGHTTP2_INADEQUATE_SECURITY, 4);
  text.copy(goaway, 8);
  socket.end(Buffer.concat([frame(SETTINGS, Buffer.alloc(0)), frame(GOAWAY, goaway)]));
  // Unread data of the client would make the system drop the answer together with the connection.
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), FAREWELL_MS).unref();
  socket.once("close", () => clearTimeout(timer));
}

function frame(type: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  return Buffer.concat([head, payload]);
}
