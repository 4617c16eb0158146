import { EventEmitter } from "node:events";
import { Dirent } from "node:fs";
import { isDeepStrictEqual, types } from "node:util";
import { describe, expect, it } from "vitest";
import { ValueDecoder } from "./value-decoder.ts";
import { ValueEncoder } from "./value-encoder.ts";

const encoder = new ValueEncoder();
const decoder = new ValueDecoder();

function copyOf<T>(value: T): T;
function copyOf(value: unknown): unknown {
  return decoder.decode(encoder.encode(value));
}

describe("values with state of their own", () => {
  it("keeps dates, regular expressions and boxed primitives", () => {
    const expression = /(?<a>b)\/c/dgimsuy;
    expression.lastIndex = 3;
    const copy = copyOf(expression);
    expect(copy).toEqual(expression);
    expect(copy.lastIndex).toBe(3);
    expect(copyOf(new Date(Number.NaN)).getTime()).toBeNaN();
    expect(copyOf(new Date(-1)).getTime()).toBe(-1);
    expect(copyOf(Object(-0)).valueOf()).toBe(-0);
    expect(copyOf(Object(Symbol.iterator)).valueOf()).toBe(Symbol.iterator);
    expect(types.isStringObject(copyOf(Object("abc")))).toBe(true);
  });

  it("keeps a URL tied to its search parameters", () => {
    const url = new URL("http://example.test/a?b=c");
    const [copy, params] = copyOf([url, url.searchParams] as const);
    params.set("b", "d");
    expect(copy.href).toBe("http://example.test/a?b=d");
    expect(url.href).toBe("http://example.test/a?b=c");
  });

  it("keeps search parameters and headers", () => {
    const params = new URLSearchParams([
      ["a", "1 &=+"],
      ["a", "é"],
    ]);
    expect([...copyOf(params)]).toEqual([...params]);
    const headers = new Headers([
      ["set-cookie", "a"],
      ["set-cookie", "b"],
      ["x", "1"],
      ["X", "2"],
    ]);
    expect([...copyOf(headers)]).toEqual([...headers]);
  });

  it("keeps event emitters and directory entries usable", () => {
    expect(copyOf(new EventEmitter()).setMaxListeners(20).getMaxListeners()).toBe(20);
    const emitter = copyOf(new EventEmitter({ captureRejections: true }));
    expect(Object.getOwnPropertySymbols(emitter)).toEqual(Object.getOwnPropertySymbols(new EventEmitter()));
    const entry: unknown = Reflect.construct(Dirent, ["name", 2, "folder"]);
    expect(entry instanceof Dirent && copyOf(entry).isDirectory()).toBe(true);
  });
});

describe("binary data", () => {
  const kinds: (new (buffer: ArrayBuffer, offset?: number, length?: number) => ArrayBufferView)[] = [
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
    DataView,
  ];

  it.each(kinds.map((kind) => [kind.name, kind] as const))("keeps a %s", (_name, kind) => {
    const bytes = Uint8Array.from({ length: 64 }, (_, index) => index * 3);
    for (const view of [
      new kind(bytes.buffer),
      new kind(bytes.buffer, 16),
      new kind(bytes.buffer, 16, 2),
      new kind(bytes.buffer, 8, 0),
    ]) {
      const copy = copyOf(view);
      expect(Object.getPrototypeOf(copy)).toBe(kind.prototype);
      expect(bytesOf(copy)).toEqual(bytesOf(view));
    }
  });

  it("keeps Buffers what they are, and sends of a pool only what is used of it", () => {
    const buffer = Buffer.from("hello");
    const payload = encoder.encode([buffer, buffer]);
    expect(payload.length).toBeLessThan(100);
    const copy = decoder.decode(payload);
    expect(copy).toEqual([buffer, buffer]);
    expect(Array.isArray(copy) && copy[0] === copy[1] && Buffer.isBuffer(copy[0])).toBe(true);
    const far = Buffer.alloc(1_000_000, 1);
    expect(encoder.encode([far.subarray(0, 10), far.subarray(-10)]).length).toBeLessThan(100);
  });

  it("sends the window of a single view, and keeps the whole buffer of one that covers it", () => {
    const matrix = new Float64Array(100_000);
    expect(encoder.encode(matrix.subarray(500, 510)).length).toBeLessThan(200);
    const whole = copyOf(new Float64Array([1, 2]));
    expect([whole.byteOffset, whole.buffer.byteLength]).toEqual([0, 16]);
  });

  it("keeps views on one buffer views on one buffer", () => {
    const bytes = new Uint8Array(64);
    const views = [bytes.subarray(3, 5), new Float64Array(bytes.buffer, 8, 2), new DataView(bytes.buffer, 60)] as const;
    const [some, floats, view] = copyOf(views);
    expect(some.buffer).toBe(floats.buffer);
    expect(view.buffer).toBe(floats.buffer);
    floats[0] = 1;
    expect(new Uint8Array(some.buffer)).toContain(0xf0);
    const [overlapping, part] = copyOf([Buffer.from(bytes.buffer, 0, 20), Buffer.from(bytes.buffer, 10, 20)] as const);
    overlapping[12] = 7;
    expect(part[2]).toBe(7);
    const [whole, inside] = copyOf([bytes.subarray(1, 2), bytes.buffer] as const);
    expect(whole.buffer).toBe(inside);
    expect(whole.byteOffset).toBe(1);
  });

  it("keeps views of 100 elements and more with their own properties", () => {
    const view = Object.assign(new Uint8Array(100), { unit: "mm" });
    expect(copyOf(view).unit).toBe("mm");
    const hidden = Object.defineProperty(new Uint8Array(100), Symbol.for("hidden"), { value: 1 });
    expect(Object.getOwnPropertyDescriptor(copyOf(hidden), Symbol.for("hidden"))).toMatchObject({
      value: 1,
      enumerable: false,
    });
  });

  it("keeps resizable buffers resizable, and views on them as long as they were", () => {
    const buffer: ArrayBuffer = Reflect.construct(ArrayBuffer, [8, { maxByteLength: 16 }]);
    new Uint8Array(buffer).fill(5);
    const full: ArrayBuffer = Reflect.construct(ArrayBuffer, [16, { maxByteLength: 16 }]);
    const views = [
      new Uint8Array(buffer),
      new Uint8Array(buffer, 0, 8),
      new Uint8Array(full),
      new Uint8Array(full, 0, 16),
    ] as const;
    const [tracking, fixed, tracksFull, fixedFull] = copyOf(views);
    expect(tracking).toEqual(views[0]);
    for (const [view, size] of [
      [tracking, 12],
      [tracksFull, 10],
    ] as const)
      Reflect.apply(Reflect.get(view.buffer, "resize"), view.buffer, [size]);
    expect([tracking.length, fixed.length, tracksFull.length, fixedFull.length]).toEqual([12, 8, 10, 0]);
    expect([...views].map((view) => view.length)).toEqual([8, 8, 16, 16]);
  });

  it("leaves large data in an owned payload when nobody can tell", () => {
    const payload = Uint8Array.from(
      encoder.encode([Buffer.alloc(100_000, 1), new Uint8Array(100_000), Buffer.alloc(10)]),
    );
    const [large, whole, small] = buffersIn(decoder.decode(payload, 0, payload.length, { owned: true }));
    expect(large?.buffer).toBe(payload.buffer);
    expect(whole?.buffer).not.toBe(payload.buffer);
    expect(small?.buffer).not.toBe(payload.buffer);
    expect(large?.every((byte) => byte === 1)).toBe(true);
    const [copied] = buffersIn(decoder.decode(payload));
    expect(copied?.buffer).not.toBe(payload.buffer);
    expect(copied).toEqual(large);
  });

  it("decodes a payload at any place of a larger buffer", () => {
    const value = [Buffer.alloc(50_000, 3), new Float64Array([1.5, 2.5]).subarray(1), "text"];
    const payload = Uint8Array.from(encoder.encode(value));
    for (let offset = 0; offset < 9; offset++) {
      const message = new Uint8Array(offset + payload.length + 5);
      message.set(payload, offset);
      const copy = decoder.decode(message, offset, offset + payload.length, { owned: offset % 2 === 0 });
      expect(isDeepStrictEqual(copy, value)).toBe(true);
    }
  });
});

function bytesOf(view: ArrayBufferView): Uint8Array {
  return new Uint8Array(view.buffer, view.byteOffset, view.byteLength).slice();
}

function buffersIn(value: unknown): Uint8Array[] {
  return Array.isArray(value) ? value.filter((item) => item instanceof Uint8Array) : [];
}
