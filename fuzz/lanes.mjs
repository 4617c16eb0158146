/** Sockets of task threads: sessions that go through one, and connections that have no business there. */
import { connect } from "node:net";
import { dirname, join } from "node:path";
import { call, connectTo } from "./calls.mjs";
import { message } from "./http2-frames.mjs";
import { mutateMessage } from "./mutate.mjs";
import { bytesField, integerField, takeApart } from "./protobuf.mjs";

const LANE_SOCKET = 9;
const LANE_TICKET = 10;
const hello = bytesField(
  1,
  Buffer.concat([
    integerField(1, 1),
    integerField(2, 1),
    bytesField(3, Buffer.from("lanes")),
    // The caller accepts a lane.
    integerField(9, 1),
  ]),
);

/** Opens a session at a worker and returns its lane; `undefined` if the worker did not offer one. */
export async function welcomed(path, greeting = hello) {
  const session = connectTo(path);
  const stream = call(session);
  // The worker says its last word and leaves the rest to this side.
  stream.once("end", () => stream.close());
  stream.write(message(greeting));
  const first = await new Promise((resolve) => {
    stream.once("data", resolve);
    stream.once("close", () => resolve(undefined));
    session.once("close", () => resolve(undefined));
  });
  stream.resume();
  const welcome = takeApart(first?.subarray(5) ?? Buffer.alloc(0))?.find(({ number }) => number === 1)?.value;
  const text = (field) => takeApart(welcome ?? Buffer.alloc(0))?.find(({ number }) => number === field)?.value;
  const [socket, ticket] = [text(LANE_SOCKET), text(LANE_TICKET)];
  const lane = socket === undefined ? undefined : { path: join(dirname(path), String(socket)), ticket };
  return { session, stream, lane };
}

/** A connection to a task thread. Reads everything, or nothing if `deaf`. */
export async function connectLane(path, deaf = false) {
  const socket = connect(path);
  socket.on("error", () => undefined);
  if (!deaf) socket.resume();
  await new Promise((resolve) => socket.once("connect", resolve).once("close", resolve));
  return socket;
}

/** What strangers send. Tickets: a valid one, a used one, and one of another worker. */
const strangers = {
  nothing: () => Buffer.alloc(0),
  noise: (random) => random.bytes(1 + random.integer(2000)),
  "half of a prefix": (random) => message(Buffer.alloc(20)).subarray(0, random.integer(5)),
  "a wrong ticket, and frames": (random, _, frames) =>
    Buffer.concat([message(random.bytes(32)), message(mutateMessage(random, frames))]),
  "frames without a ticket": (random, _, frames) => message(mutateMessage(random, frames)),
  "a used ticket, and frames": (random, tickets, frames) =>
    Buffer.concat([message(tickets.used), message(mutateMessage(random, frames))]),
  "a ticket of another worker": (random, tickets, frames) =>
    Buffer.concat([message(tickets.foreign), message(mutateMessage(random, frames))]),
  "a ticket with a length that lies": (random, tickets) => message(tickets.good, random.integer(2 ** 31)),
  "half of a ticket": (_, tickets) => message(tickets.good).subarray(0, 20),
  "two tickets": (_, tickets) => Buffer.concat([message(tickets.used), message(tickets.foreign)]),
  "HTTP/2": () => Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
};

/**
 * Opens `count` connections to a task thread. Each sends something wrong, and then hangs up, closes one direction, or
 * waits.
 */
export async function fuzzLanes(victim, other, random, recorded, count) {
  const [mine, foreign, unused] = await Promise.all([
    welcomed(victim.path),
    welcomed(other.path),
    welcomed(victim.path),
  ]);
  const own = await connectLane(mine.lane.path);
  own.write(message(mine.lane.ticket));
  const tickets = { used: mine.lane.ticket, foreign: foreign.lane.ticket, good: unused.lane.ticket };
  const names = Object.keys(strangers);
  const open = new Set();
  for (let i = 0; i < count; i++) {
    const socket = await connectLane(mine.lane.path, random.chance(4));
    open.add(socket);
    socket.once("close", () => open.delete(socket));
    socket.write(strangers[names[i % names.length]](random, tickets, recorded.frames));
    if (random.chance(3)) socket.end();
    else if (random.chance(2)) setImmediate(() => socket.destroy());
    // More connections than may wait.
    if (open.size > 1500) for (const old of [...open].slice(0, 500)) old.destroy();
  }
  for (const socket of [...open, own]) socket.destroy();
  for (const { session } of [mine, foreign, unused]) session.destroy();
  return { inputs: count };
}
