/** A caller that keeps to the protocol, and takes what it likes: its frames and its connections. */
import { call, connectTo } from "./calls.mjs";
import { message } from "./http2-frames.mjs";
import { contentHash } from "./mutate.mjs";
import { bytesField, integerField, varint } from "./protobuf.mjs";

export const REFLECTION = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
export const HEALTH = "/grpc.health.v1.Health/Check";
export const MIB = 1024 * 1024;
/** Bytes that are written at once. */
const PIECE = 256 * 1024;

/** Frames by their numbers. */
const REQUEST = {
  hello: 1,
  task: 2,
  step: 3,
  cancel: 4,
  credit: 5,
  chunk: 6,
  route: 7,
  dependency: 8,
  pool: 9,
  abort: 10,
  shared: 11,
  dropped: 12,
};
export const text = (number, value) => bytesField(number, Buffer.from(value));
export const frame = (kind, ...fields) => bytesField(REQUEST[kind], Buffer.concat(fields));
export const repeated = (count, make) => Buffer.concat(Array.from({ length: count }, (_, i) => make(i)));

const hello = frame("hello", integerField(1, 1), integerField(2, 1), text(3, "greedy"));
const CODE = `
export function bytes(n) { return "x".repeat(n) }
export function stuck() { return new Promise(() => undefined) }
export function* endless(n) { for (;;) yield "x".repeat(n) }
export async function* waits() { await new Promise(() => undefined); yield 1 }
`;
const functions = ["bytes", "stuck", "endless", "waits"];
/** The functions that tasks call. */
export const announcement = Buffer.concat(
  functions.map((name, i) =>
    frame(
      "route",
      integerField(1, i + 1),
      text(2, name),
      integerField(5, name === "endless" || name === "waits" ? 1 : 0),
      text(10, `node:data:text/javascript,${encodeURIComponent(CODE)}#${name}`),
      text(11, "json"),
    ),
  ),
);
/** One of them for values that are encoded as this package does, which may be called in packs, and such a call. */
const PACKED = 77;
export const packedRoute = frame(
  "route",
  integerField(1, PACKED),
  text(2, "bytes"),
  text(10, `node:data:text/javascript,${encodeURIComponent(CODE)}#bytes`),
);
export const pack = (id, args, items) =>
  frame("task", integerField(1, id), integerField(2, PACKED), bytesField(3, args), bytesField(14, items));
export const task = (id, name, args, ...more) =>
  frame(
    "task",
    integerField(1, id),
    integerField(2, functions.indexOf(name) + 1),
    text(3, JSON.stringify(args)),
    integerField(4, id + 1),
    ...more,
  );
export const credit = (id, steps) => frame("credit", integerField(1, id), integerField(2, steps));
export const chunk = (id, data, total) =>
  frame("chunk", integerField(1, id), bytesField(2, data), integerField(3, total));
export const abort = (id) => frame("abort", integerField(1, id), integerField(5, 1));
export const dependency = (number, data) => {
  const bytes = JSON.stringify(data);
  return frame("dependency", integerField(1, number), text(2, contentHash(bytes)), text(3, bytes));
};
/** The announcement of a shared value that has, or claims to have, this many bytes. */
export const share = (number, hash, bytes) =>
  frame(
    "dependency",
    integerField(1, number),
    text(2, hash),
    text(3, JSON.stringify({ kind: "shared", bytes, inner: [] })),
  );
/** The dependencies of a task or a step, by number. */
export const needs = (numbers) => bytesField(9, Buffer.concat(numbers.map(varint)));
export const pool = (number, id) =>
  frame(
    "pool",
    integerField(1, number),
    text(2, JSON.stringify({ id, version: 1, isComplete: true, members: [], removed: [] })),
  );

/** A connection with streams that send anything and read nothing unless told to. */
export class GreedyConnection {
  #session;
  isClosed = false;

  constructor(path) {
    this.#session = connectTo(path);
    this.#session.once("close", () => (this.isClosed = true));
  }

  /** A session, or a stream of another method. */
  open(method) {
    return new GreedyStream(this, call(this.#session, method), method === undefined);
  }

  destroy() {
    this.#session.destroy();
  }
}

class GreedyStream {
  status;
  #connection;
  #stream;
  #isOver = false;

  constructor(connection, stream, isSession) {
    this.#connection = connection;
    this.#stream = stream;
    const note = (fields) => (this.status ??= fields["grpc-message"] && decodeURIComponent(fields["grpc-message"]));
    stream.on("response", note);
    stream.on("trailers", note);
    stream.once("close", () => (this.#isOver = true));
    if (!isSession) return;
    stream.write(message(hello));
    stream.write(message(announcement));
  }

  get isOver() {
    return this.#isOver || this.#connection.isClosed;
  }

  read() {
    this.#stream.resume();
  }

  close() {
    this.#stream.close();
  }

  /** Writes raw bytes. Returns false if the worker read nothing for a while, or has hung up. */
  async write(bytes, patienceMs = 2000) {
    if (this.isOver) return false;
    if (this.#stream.write(bytes)) return true;
    return await new Promise((resolve) => {
      const settle = (isDrained) => {
        clearTimeout(timer);
        this.#stream.off("drain", done).off("close", gone);
        resolve(isDrained);
      };
      const done = () => settle(true);
      const gone = () => settle(false);
      const timer = setTimeout(gone, patienceMs);
      this.#stream.once("drain", done).once("close", gone);
    });
  }

  /** Sends messages until the worker reads no more. Returns how many it read. */
  async pour(count, make) {
    for (let i = 0; i < count; i++) {
      const bytes = message(make(i));
      for (let at = 0; at < bytes.length; at += PIECE) {
        if (!(await this.write(bytes.subarray(at, at + PIECE)))) return i;
      }
    }
    return count;
  }
}

export function mb(bytes) {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}

export function sum(numbers) {
  return numbers.reduce((total, number) => total + number, 0);
}

export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
