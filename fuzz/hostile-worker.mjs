/** A worker that answers with nonsense, against a caller in a separate process. */
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { createServer } from "node:http2";
import { createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { message } from "./http2-frames.mjs";
import { contentHash, mutateMessage } from "./mutate.mjs";
import { bytesField, integerField, takeApart } from "./protobuf.mjs";
import { readMessages } from "./record.mjs";

/** It takes packs, too. */
const about = [integerField(1, 1), bytesField(2, Buffer.from("w")), integerField(3, 1), integerField(11, 1)];
const welcome = bytesField(1, Buffer.concat(about));
/** A welcome that offers a lane. */
const offer = (socket, ticket = "ticket") =>
  bytesField(1, Buffer.concat([...about, bytesField(9, Buffer.from(socket)), bytesField(10, Buffer.from(ticket))]));
/** Names of lanes. The first two are sockets that answer; the others are elsewhere, too long, or invalid. */
const LANES = ["lane", "lane", "silent", "s", ".", "..", "../lane", "/dev/null", "none", "x".repeat(300), "a\0b", "é"];
const outcome = (field, id, value) => bytesField(field, Buffer.concat([integerField(1, id), bytesField(2, value)]));
const VALUE = Buffer.from([0x02, 0x01]);
/** Each kind of frame as a worker would send it. */
const plainFrames = [
  bytesField(2, integerField(1, 0)),
  bytesField(3, Buffer.concat([integerField(1, 1), integerField(2, 8), bytesField(3, Buffer.from("busy"))])),
  outcome(4, 0, VALUE),
  outcome(5, 2, VALUE),
  outcome(6, 3, VALUE),
  bytesField(7, Buffer.concat([integerField(1, 0), bytesField(2, Buffer.alloc(100)), integerField(3, 1000)])),
  bytesField(
    8,
    Buffer.concat([
      integerField(1, 1),
      bytesField(2, Buffer.from(contentHash("{}"))),
      bytesField(3, Buffer.from("{}")),
    ]),
  ),
  bytesField(9, bytesField(1, Buffer.from("gone"))),
  bytesField(10, Buffer.concat([integerField(1, 5), integerField(2, 7)])),
  bytesField(11, Buffer.concat([integerField(1, 1), integerField(2, 1)])),
  // Payloads outside the frame: in chunks, in a file, with code.
  bytesField(4, Buffer.concat([integerField(1, 1), integerField(4, 1000)])),
  bytesField(
    4,
    Buffer.concat([integerField(1, 1), integerField(4, 9), bytesField(5, Buffer.from("/dev/shm/wool-0/p/f"))]),
  ),
  bytesField(
    6,
    Buffer.concat([integerField(1, 2), bytesField(2, VALUE), bytesField(3, Buffer.from([1])), integerField(6, 1)]),
  ),
  bytesField(5, Buffer.concat([integerField(1, 8), bytesField(2, VALUE), integerField(6, 1)])),
  bytesField(3, Buffer.concat([integerField(1, 4), integerField(2, 5), bytesField(6, Buffer.from(contentHash("{}")))])),
  bytesField(9, Buffer.concat([bytesField(1, Buffer.from("gone")), integerField(2, 2)])),
  // Calls of a pack: one that returned, one that threw, and all that are left.
  ...[4, 6].flatMap((field) =>
    [0, 1, 2, 3, 4].map((item) =>
      bytesField(field, Buffer.concat([integerField(1, item % 3), bytesField(2, VALUE), integerField(7, item)])),
    ),
  ),
];
/** How many names the caller has for the worker. */
const NAMES = 3000;
const DISPATCH = "/wool.v1.Worker/Dispatch";
const METADATA = {
  uid: "w",
  pid: 1,
  version: "0.1.0",
  tags: ["a"],
  extra: { __proto__: null, constructor: "x" },
  secure: false,
  channel: { threads: 1, keepaliveInterval: 1e9, compression: "gzip", maxMessageBytes: 200_000 },
};
const STATUSES = ["0", "8", "14", "16", "-1", "99999999999999999999", "x", ""];
const MESSAGES = ["%", "%zz", "%E0%A4%A", "\\u0000", "a".repeat(8000), "%41%42"];

const PACE = bytesField(10, Buffer.concat([integerField(1, 5), integerField(2, 7)]));
/** How many calls of a pack there are: the lengths of their arguments, each below 128 or the count is too high. */
const callsOf = (fields) => fields.find(({ number }) => number === 14)?.value.length;

/** The answers to the tasks in a message: those of packs in any order, some twice, some not at all. */
function answersTo(random, request) {
  const answers = [];
  for (const { number, value } of takeApart(request) ?? []) {
    const fields = number === 2 ? (takeApart(value) ?? []) : [];
    if (fields.length === 0) continue;
    const id = fields.find((field) => field.number === 1)?.value ?? 0n;
    const calls = callsOf(fields);
    const items = calls === undefined ? [0] : Array.from({ length: calls }, (_, i) => i + 1);
    if (random.chance(4)) items.reverse();
    if (random.chance(8)) items.push(random.integer(200), random.pick(items));
    if (random.chance(8)) items.splice(random.integer(items.length), 1);
    for (const item of items) {
      const body = [integerField(1, id), bytesField(2, VALUE), ...(item === 0 ? [] : [integerField(7, item)])];
      answers.push(bytesField(random.chance(20) ? 6 : 4, Buffer.concat(body)));
    }
  }
  return answers;
}

/** Answers a call that is no session, or a session before it has begun: with what is no answer. */
function answerOddly(random, stream) {
  const fields = { "grpc-status": random.pick(STATUSES), "grpc-message": random.pick(MESSAGES) };
  const type = random.pick(["application/grpc", "application/grpc+proto", "text/html", "application/grpcweb"]);
  if (random.chance(4)) {
    stream.respond(
      { ":status": random.pick([200, 204, 404, 500, 503]), "content-type": type, ...fields },
      { endStream: true },
    );
    return;
  }
  stream.respond({ ":status": 200, "content-type": type }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(fields));
  const body = bytesField(1, Buffer.from(JSON.stringify(METADATA)));
  const bytes = random.chance(2) ? body : mutateMessage(random, [body]);
  stream.end(message(bytes, random.chance(10) ? random.integer(2 ** 31) : bytes.length));
}

/**
 * Answers a caller with `count` messages in all, made of frames that a worker has sent. Returns the state of the
 * caller.
 */
export async function fuzzCaller(random, count, answers) {
  const frames = [...plainFrames, ...answers];
  const folder = mkdtempSync(join(tmpdir(), "wool-hostile-"));
  const server = createServer();
  let sent = 0;
  /** Sends nonsense while the connection is open. */
  const answer = (way) => {
    for (let i = 0; i < 20; i++) {
      if (way.destroyed || sent >= count) return;
      sent++;
      const bytes = mutateMessage(random, frames);
      if (!way.write(message(bytes, random.chance(200) ? random.integer(2 ** 31) : bytes.length))) {
        way.once("drain", () => answer(way));
        return;
      }
    }
    setImmediate(() => answer(way));
  };
  /** Answers tasks, so that more come, and in packs; but one answer in ten is wrong. */
  const serve = (way) =>
    readMessages(way, (request) => {
      const answers = answersTo(random, request);
      if (way.destroyed || answers.length === 0) return;
      const isWrong = random.chance(10);
      if (isWrong) sent++;
      const bytes = isWrong ? mutateMessage(random, answers) : Buffer.concat([...answers, PACE]);
      way.write(message(bytes));
    });
  const lane = createSocketServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      const nonsense = random.chance(10);
      const leaves = random.chance(10);
      if (nonsense) socket.end(random.bytes(random.integer(20)));
      else if (leaves) socket.destroy();
      else if (random.chance(4)) serve(socket);
      else answer(socket);
    });
    if (!random.chance(10)) socket.resume();
  });
  const silent = createSocketServer((socket) => socket.on("error", () => undefined));
  server.on("sessionError", () => undefined);
  server.on("session", (session) => session.on("error", () => undefined));
  server.on("stream", (stream, headers) => {
    stream.on("error", () => undefined);
    if (headers[":path"] !== DISPATCH || random.chance(50)) {
      sent++;
      answerOddly(random, stream);
      return;
    }
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    stream.resume();
    const greeting = random.chance(2) ? welcome : offer(random.pick(LANES), "t".repeat(random.pick([0, 6, 100_000])));
    stream.write(message(random.chance(20) ? mutateMessage(random, [greeting]) : greeting));
    if (random.chance(4)) serve(stream);
    else stream.once("data", () => answer(stream));
  });
  const path = join(folder, "s");
  await new Promise((resolve) => server.listen(path, resolve));
  await new Promise((resolve) => lane.listen(join(folder, "lane"), resolve));
  await new Promise((resolve) => silent.listen(join(folder, "silent"), resolve));
  // A caller avoids an address for a while after it sent nonsense. So this address has many names.
  for (let i = 0; i < NAMES; i++) symlinkSync(path, join(folder, `s${i}`));
  const caller = fork(new URL("attacked-caller.mjs", import.meta.url), [`unix:${path}`, `${NAMES}`]);
  let [peak, worst, ended] = [0, 0, undefined];
  caller.on("message", ({ lag }) => (worst = Math.max(worst, lag)));
  caller.on("exit", (code, signal) => (ended = `${code ?? signal}`));
  const memory = () => {
    try {
      peak = Math.max(
        peak,
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${caller.pid}/status`, "utf8"))?.[1] ?? 0) / 1024,
      );
    } catch {
      // The caller has ended, and its exit handler has noted that.
    }
  };
  const end = performance.now() + 600_000;
  while (sent < count && ended === undefined && performance.now() < end) {
    memory();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const crashed = ended;
  if (ended === undefined) {
    const gone = new Promise((resolve) => caller.once("exit", resolve));
    caller.kill("SIGKILL");
    await gone;
  }
  for (const each of [server, lane, silent]) each.close();
  rmSync(folder, { recursive: true });
  return { inputs: sent, peak, worst, crashed };
}
