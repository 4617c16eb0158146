/** Bytes on a socket that resemble HTTP/2 or gRPC less and less. */
import { callHeaders, END_HEADERS, frame, message, PREFACE, TYPE } from "./http2-frames.mjs";

const PATHS = [
  "/wool.v1.Worker/Dispatch",
  "/wool.v1.Worker/Idle",
  "/wool.v1.Worker/Describe",
  "/grpc.health.v1.Health/Check",
  "/grpc.health.v1.Health/Watch",
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
  "/nothing",
];

const kinds = {
  noise: (random) => random.bytes(1 + random.integer(2000)),
  afterPreface: (random) => Buffer.concat([PREFACE, random.bytes(1 + random.integer(2000))]),
  frames: (random) => {
    const parts = [PREFACE, frame(TYPE.settings, 0, 0)];
    for (let i = 0, count = 1 + random.integer(20); i < count; i++) {
      const payload = random.bytes(random.integer(60));
      const lie = random.chance(5) ? random.integer(2 ** 24) : payload.length;
      parts.push(frame(random.integer(12), random.integer(256), random.integer(10), payload, lie));
    }
    return Buffer.concat(parts);
  },
  calls: (random) => {
    const parts = [PREFACE, frame(TYPE.settings, 0, 0)];
    for (let i = 0, count = 1 + random.integer(10); i < count; i++) {
      const stream = 2 * i + 1;
      parts.push(frame(TYPE.headers, END_HEADERS, stream, callHeaders(random.pick(PATHS))));
      const body = random.bytes(random.integer(200));
      const lie = random.chance(3) ? random.integer(2 ** 31) : body.length;
      parts.push(frame(TYPE.data, random.integer(2), stream, message(body, lie)));
    }
    return Buffer.concat(parts);
  },
};

/** Opens `count` connections. Each sends something wrong; some hang up at once, some wait. */
export async function fuzzSockets(victim, random, count) {
  const names = Object.keys(kinds);
  const open = new Set();
  for (let i = 0; i < count; i++) {
    const socket = await victim.connect();
    socket.resume();
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.write(kinds[names[i % names.length]](random));
    if (random.chance(3)) socket.end();
    else if (random.chance(2)) setImmediate(() => socket.destroy());
    if (open.size > 200) for (const old of [...open].slice(0, 100)) old.destroy();
  }
  for (const socket of open) socket.destroy();
  return { inputs: count };
}
