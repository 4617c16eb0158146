import { ChildProcess } from "node:child_process";
import { createHash, createSecretKey } from "node:crypto";
import { EventEmitter } from "node:events";
import { openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, Socket } from "node:net";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { SerializationError } from "../../errors.ts";
import { encode } from "../codec.ts";

const blobOfFile = await openAsBlob(fileURLToPath(import.meta.url));

function refusalOf(value: unknown, rootName?: string): SerializationError {
  try {
    encode(value, rootName);
  } catch (error) {
    if (error instanceof SerializationError) return error;
    throw error;
  }
  throw new Error("It was not refused.");
}

function* count(): Generator<number> {
  yield 1;
}

async function* countSlowly(): AsyncGenerator<number> {
  yield 1;
}

describe("what cannot travel", () => {
  const { port1, port2 } = new MessageChannel();
  port1.close();
  port2.close();
  it.each<[string, object, RegExp]>([
    ["a pending Promise", new Promise(() => {}), /Await it/],
    ["a WeakRef", new WeakRef({}), /deref/],
    ["a FinalizationRegistry", new FinalizationRegistry(() => {}), /inside the routine/],
    ["a Proxy", new Proxy({}, {}), /object behind it/],
    ["a Proxy of an array", new Proxy([], {}), /object behind it/],
    ["a generator", count(), /routine/],
    ["an async generator", countSlowly(), /routine/],
    ["an array iterator", [1].values(), /iterates over/],
    ["a Map iterator", new Map().entries(), /iterates over/],
    ["a string iterator", "a"[Symbol.iterator](), /iterates over/],
    ["a match iterator", "a".matchAll(/a/g), /iterates over/],
    ["a SharedArrayBuffer", new SharedArrayBuffer(8), /slice/],
    ["a view on a SharedArrayBuffer", new Uint8Array(new SharedArrayBuffer(8)), /slice/],
    ["a socket", new Socket(), /net\.Socket holds an open handle/],
    ["a server", createServer(), /net\.Server holds an open handle/],
    ["a stream", new PassThrough(), /stream/],
    ["a child process", new ChildProcess(), /child_process\.ChildProcess holds an open handle/],
    ["a message port", port1, /MessagePort/],
    ["a hash", createHash("sha256"), /crypto|stream/],
    ["a key", createSecretKey(Buffer.from("secret")), /KeyObject/],
    ["a WebAssembly module", wasmModule(), /WebAssembly\.Module/],
    ["an AbortController", new AbortController(), /Pass its signal/],
    ["a Blob of a file", blobOfFile, /arrayBuffer/],
    ["a Request", new Request("http://example.test"), /url, headers/],
    ["a TextDecoder with state that cannot be seen", new TextDecoder("shift_jis"), /TextDecoder/],
    ["an EventTarget", new EventTarget(), /EventTarget/],
    ["a subclass of a stream", new (class Mine extends PassThrough {})(), /stream/],
    ["a detached ArrayBuffer", detached(), /transferred/],
    ["a DataView on a detached ArrayBuffer", detached((buffer) => new DataView(buffer)), /transferred/],
    ["a typed array out of bounds", outOfBounds((buffer) => new Uint8Array(buffer, 4, 4)), /shrunk/],
    ["a typed array that follows a shrunk buffer", outOfBounds((buffer) => new Uint8Array(buffer, 4)), /shrunk/],
    ["a DataView out of bounds", outOfBounds((buffer) => new DataView(buffer, 4, 4)), /shrunk/],
  ])("says why for %s", (_what, value, reason) => {
    const error = refusalOf({ items: [0, { client: value }] }, "result");
    expect(error.path).toBe("result.items[1].client");
    expect(error.message).toMatch(/^result\.items\[1\]\.client: /);
    expect(error.message).toMatch(reason);
    expect(error.code).toBe("WOOL_SERIALIZATION");
  });

  it("refuses a timer and a file handle, whose classes Node does not export", async () => {
    const timer = setTimeout(() => {}, 0);
    const immediate = setImmediate(() => {});
    const fix = "a timer belongs to this process. Start it inside the routine.";
    expect(refusalOf({ timer }).message).toBe(`value.timer: ${fix}`);
    expect(refusalOf({ immediate }).message).toBe(`value.immediate: ${fix}`);
    clearTimeout(timer);
    clearImmediate(immediate);
    const file = await open(new URL(import.meta.url));
    expect(refusalOf({ file }).message).toMatch(/^value\.file.* Make the instance inside the routine/);
    await file.close();
  });

  it("finds the way to it through everything", () => {
    const promise = new Promise(() => {});
    expect(refusalOf(promise, "args[0]").path).toBe("args[0]");
    expect(refusalOf(new Map([["key", { promise }]])).path).toBe('value.get("key").promise');
    expect(refusalOf(new Map([[promise, 1]])).path).toBe("value.keys()[0]");
    expect(refusalOf(new Set([1, promise])).path).toBe("value.values()[1]");
    expect(refusalOf({ "a-b": { [Symbol("s")]: promise } }).path).toBe('value["a-b"][Symbol(s)]');
    expect(refusalOf(new Error("x", { cause: promise })).path).toBe("value.cause");
    expect(refusalOf(Object.create({ inherited: promise })).path).toBe("value.__proto__.inherited");
    expect(refusalOf(Object.assign([1], { extra: promise })).path).toBe("value.extra");
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    cyclic["found"] = promise;
    expect(refusalOf(cyclic).path).toBe("value.found");
    let deep: unknown = promise;
    for (let level = 0; level < 20_000; level++) deep = [deep];
    expect(refusalOf(deep).path).toBe(`value${"[0]".repeat(20_000)}`);
  });

  it("leaves the encoder usable", () => {
    expect(() => encode([new Promise(() => {})])).toThrow(SerializationError);
    expect(() => encode([new EventEmitter(), { a: 1 }])).not.toThrow();
  });
});

function wasmModule(): object {
  const { Module } = Reflect.get(globalThis, "WebAssembly");
  return new Module(Buffer.from([0, 97, 115, 109, 1, 0, 0, 0]));
}

function detached(make: (buffer: ArrayBuffer) => object = (buffer) => buffer): object {
  const buffer = new ArrayBuffer(8);
  const made = make(buffer);
  structuredClone(buffer, { transfer: [buffer] });
  return made;
}

function outOfBounds(make: (buffer: ArrayBuffer) => object): object {
  const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }]);
  const view = make(buffer);
  Reflect.apply(Reflect.get(buffer, "resize"), buffer, [2]);
  return view;
}

const temporal: unknown = Reflect.get(globalThis, "Temporal");

it.skipIf(temporal === undefined)("says how to pass an object of Temporal", () => {
  const instant: object = Reflect.get(Object(temporal), "Instant").from("2026-01-01T00:00Z");
  expect(refusalOf(instant, "at").message).toMatch(/call Temporal\.Instant\.from\(text\) inside the routine/);
});

describe("the path to what cannot travel", () => {
  it("names a variable that functions assign to by its name alone", () => {
    let kept = new WeakRef({});
    const refresh = (): WeakRef<object> => (kept = new WeakRef({}));
    expect(refusalOf(refresh, "fn").path).toBe("fn -> kept");
    expect(refresh()).toBe(kept);
  });
});
