/** Records what a real caller sends, with a server that listens like a worker and never answers a call. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http2";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { routine, share, WorkerProxy } from "wool-ts";
import { call, connectTo } from "./calls.mjs";
import { message as framed } from "./http2-frames.mjs";
import { bytesField, integerField, putTogether, takeApart, varint } from "./protobuf.mjs";

/** Frames by their numbers. */
const TASK = 2;
const ROUTE = 7;
const DEPENDENCY = 8;
const ACCEPTED = 2;
const WANTED = 11;

class Point {
  constructor(x) {
    this.x = x;
  }
}
const add = routine(async (x, y) => x + y, { name: "add" });
const echo = routine(async (value) => value, { name: "echo" });
const count = routine(
  async function* (to) {
    for (let i = 0; i < to; i++) yield i;
  },
  { name: "count" },
);
const gives = routine(
  async () => ({ f: (x) => x + 1, Point, point: new Point(1), error: new TypeError("t", { cause: new Point(2) }) }),
  { name: "gives" },
);
const throws = routine(
  async () => {
    throw Object.assign(new RangeError("r"), { with: new Map([[() => 1, new Set([Point])]]) });
  },
  { name: "throws" },
);
const listens = routine(async (signal) => signal.aborted, { name: "listens" });
const nests = routine(async () => await add(1, 2), { name: "nests" });

const deep = Array.from({ length: 200 }).reduce((inner) => ({ inner }), "core");

async function useEverything(proxy) {
  const [small, large] = [share({ table: [1, 2, 3], at: new Date(0) }), share(new Uint8Array(300_000))];
  const captured = routine(async (x) => [x, small.value.table, large.value.length], { name: "captured" });
  const controller = new AbortController();
  const aborted = new AbortController();
  aborted.abort(new Error("early"));
  const calls = [
    proxy.dispatch(add, 1, 2),
    proxy.dispatch(echo, { text: "é", list: [1, -0, 1.5, null, undefined, 10n], map: new Map([[1, new Set([2])]]) }),
    proxy.dispatch(echo, [new Date(0), /x/g, new Uint8Array(300), new Error("e", { cause: 1 }), new Point(3), deep]),
    proxy.dispatch(echo, new Uint8Array(700_000)),
    proxy.dispatch(listens, controller.signal),
    proxy.dispatch(listens, aborted.signal),
    proxy.dispatch(nests),
    proxy.dispatch(add.with({ timeout: 5000, key: "k" }), 3, 4),
    proxy.dispatch(echo, [small, { large }]),
    proxy.dispatch(gives),
    proxy.dispatch(throws),
    proxy.dispatch(captured, share(share("inner"))),
  ];
  const stream = proxy.dispatch(count.with({ prefetch: 8 }), 100);
  const pulled = proxy.dispatch(count, 100);
  const steps = [
    stream.next(),
    stream.next(),
    pulled.next(),
    pulled.next("sent"),
    pulled.throw(new Error("t")),
    pulled.return(1),
  ];
  for (const each of [...calls, ...steps]) each.catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 300));
  controller.abort(new Error("late"));
  small[Symbol.dispose]();
  await new Promise((resolve) => setTimeout(resolve, 100));
}

const ARGS = 3;
const CHUNKED = 10;
const ITEMS = 14;
/** Calls in a pack. */
const PACKED = 3;

/** Tasks as packs of several calls, each with the arguments of the task. */
function packsOf(frames) {
  const packs = [];
  for (const { number, value } of frames.flatMap((frame) => takeApart(frame) ?? [])) {
    const fields = number === TASK ? (takeApart(value) ?? []) : [];
    const args = fields.find((field) => field.number === ARGS)?.value;
    if (args === undefined || fields.some((field) => field.number === CHUNKED)) continue;
    const others = fields.filter((field) => field.number !== ARGS && field.number !== 1);
    const items = Buffer.concat(Array.from({ length: PACKED }, () => varint(args.length)));
    const body = Buffer.concat([
      integerField(1, 1000 + packs.length),
      putTogether(others),
      bytesField(ARGS, Buffer.concat(Array.from({ length: PACKED }, () => args))),
      bytesField(ITEMS, items),
    ]);
    packs.push(bytesField(TASK, body));
  }
  return packs;
}

/** What a caller in another language sends: functions by name, values as JSON. */
function foreignMessages() {
  const text = (number, value) => bytesField(number, Buffer.from(value));
  const module = "data:text/javascript,export function f(x) { return x } export function* g(x) { yield x }";
  const route = (number, name) =>
    bytesField(
      ROUTE,
      Buffer.concat([
        integerField(1, number),
        text(2, name),
        integerField(5, name === "g" ? 1 : 0),
        text(10, `node:${module}#${name}`),
        text(11, "json"),
      ]),
    );
  const task = (id, number, args) =>
    bytesField(TASK, Buffer.concat([integerField(1, id), integerField(2, number), text(3, args), integerField(4, id)]));
  return [
    Buffer.concat([route(901, "f"), route(902, "g")]),
    Buffer.concat([
      task(801, 901, '[{"a":[1,-2.5e3,null,"\\ud83d"],"__proto__":{"b":1}}]'),
      task(802, 902, "[1152921504606846977]"),
      task(803, 901, "[".repeat(500)),
    ]),
  ];
}

/** The messages of a caller that does a little of everything, and its hello separately. */
export async function recordCaller() {
  const folder = mkdtempSync(join(tmpdir(), "wool-record-"));
  const messages = [];
  let hello;
  const server = createServer();
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    if (headers[":path"] !== "/wool.v1.Worker/Dispatch") return;
    readMessages(stream, (message) => {
      if (hello === undefined) {
        hello = message;
        const welcome = Buffer.concat([integerField(1, 1), bytesField(2, Buffer.from("w")), integerField(3, 1)]);
        stream.write(framed(bytesField(1, welcome)));
        return;
      }
      messages.push(message);
      // A caller sends more when it hears that its tasks were started.
      for (const { number, value } of takeApart(message) ?? []) {
        const id = takeApart(value)?.find((field) => field.number === 1)?.value ?? 0n;
        if (number === TASK) stream.write(framed(bytesField(ACCEPTED, integerField(1, id))));
        // It sends shared values when it is asked for them.
        if (number === DEPENDENCY && value.includes('"shared"')) {
          stream.write(framed(bytesField(WANTED, Buffer.concat([integerField(1, id), integerField(2, id % 2n)]))));
        }
      }
    });
  });
  const path = join(folder, "s");
  await new Promise((resolve) => server.listen(path, resolve));
  const metadata = {
    uid: "w",
    address: `unix:${path}`,
    pid: 1,
    version: "",
    tags: new Set(),
    extra: {},
    secure: false,
    channel: {},
  };
  const proxy = new WorkerProxy({ workers: [metadata] });
  try {
    await useEverything(proxy);
  } finally {
    await proxy.stop();
    server.close();
    rmSync(folder, { recursive: true });
  }
  messages.push(...foreignMessages());
  messages.push(...packsOf(messages.flatMap(framesOf)));
  return { hello, messages, frames: messages.flatMap(framesOf) };
}

/** The frames with which a worker at that path answers the messages of `recordCaller`. */
export async function recordWorker(path, { hello, messages }) {
  const session = connectTo(path);
  const stream = call(session);
  const answers = [];
  readMessages(stream, (message) => answers.push(message));
  stream.write(framed(hello));
  // One after the other, as they were sent: a worker that hangs up has answered the earlier ones.
  for (const message of messages) {
    stream.write(framed(message));
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await new Promise((resolve) => setTimeout(resolve, 500));
  session.destroy();
  return answers.slice(1).flatMap(framesOf);
}

/** Calls `take` with each message that comes. */
export function readMessages(stream, take) {
  let held = Buffer.alloc(0);
  stream.on("data", (chunk) => {
    held = Buffer.concat([held, chunk]);
    while (held.length >= 5 && held.length >= 5 + held.readUInt32BE(1)) {
      const end = 5 + held.readUInt32BE(1);
      const message = Buffer.from(held.subarray(5, end));
      held = held.subarray(end);
      take(message);
    }
  });
}

/** The frames of a message, each as a separate message. */
function framesOf(message) {
  return (takeApart(message) ?? []).map(({ number, type, value }) =>
    type === 2 ? bytesField(number, value) : integerField(number, value),
  );
}
