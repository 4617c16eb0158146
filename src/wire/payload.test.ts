import { describe, expect, it } from "vitest";
import { copyPayload, encode, type PayloadSource, type Serializer, ValueDecoder } from "../values/index.ts";
import { BatchWriter } from "./batch-writer.ts";
import { RequestField, ResponseField } from "./fields.ts";
import { FrameReader, MalformedFrame } from "./frame-reader.ts";
import { writeFrame } from "./frame-writer.ts";
import { IncomingPayloads } from "./incoming-payloads.ts";
import { Outbox } from "./outbox.ts";
import { Payload, type PayloadPlace, type PayloadStore, STORE_FROM_BYTES, storePayload } from "./payload.ts";
import { OutcomeField, writeOutcome } from "./response-frames.ts";

const decoder = new ValueDecoder();
/** Keeps the bytes that it is given. */
const verbatim: Serializer = { dumps: () => new Uint8Array(0), loads: (bytes) => bytes };

/** A store in memory that counts what is done to it. */
class MemoryStore implements PayloadStore {
  readonly stored = new Map<string, Buffer>();
  readonly dropped: string[] = [];
  hasRoom = true;

  put(payload: Parameters<PayloadStore["put"]>[0]): string | undefined {
    if (!this.hasRoom) return undefined;
    const name = `p${this.stored.size}`;
    this.stored.set(name, copyPayload(payload));
    return name;
  }

  check(name: string, length: number): void {
    if (this.stored.get(name)?.length !== length) throw new Error(`there is no ${name} of ${length} bytes`);
  }

  take<T>(name: string, length: number, read: (source: PayloadSource) => T): T {
    this.check(name, length);
    const bytes = this.stored.get(name) ?? Buffer.alloc(0);
    this.stored.delete(name);
    return read({ length, read: (target, at) => void bytes.copy(target, 0, at, at + target.length) });
  }

  read<T>(name: string, length: number, read: (source: PayloadSource) => T): T {
    const bytes = this.stored.get(name) ?? Buffer.alloc(0);
    return read({ length, read: (target, at) => void bytes.copy(target, 0, at, at + target.length) });
  }

  remove(name: string): void {
    this.stored.delete(name);
  }

  drop(name: string): void {
    this.dropped.push(name);
    this.stored.delete(name);
  }
}

function outcome(id: number, place: PayloadPlace): FrameReader {
  const writer = new BatchWriter(0);
  writeOutcome(writer, ResponseField.result, id, place, [], false);
  const message = writer.take();
  const frame = new FrameReader(15).open(message, 0, message.length);
  frame.next();
  return frame;
}

describe("Payload", () => {
  const value = { text: "value", numbers: [1, 2, 3] };

  it("reads the same value in memory and out of a store", () => {
    const store = new MemoryStore();
    const bytes = encode(value);
    const buffer = Buffer.concat([Buffer.from("before"), bytes, Buffer.from("after")]);
    expect(Payload.inMemory(bytes).read(decoder, undefined)).toEqual(value);
    expect(Payload.inMemory(buffer, 6, 6 + bytes.length).read(decoder, undefined)).toEqual(value);
    expect(Payload.inStore(store, store.put(bytes) ?? "", bytes.length).read(decoder, undefined)).toEqual(value);
    expect(store.stored.size).toBe(0);
  });

  it("gives a serializer exactly its bytes, which it may keep", () => {
    const store = new MemoryStore();
    const bytes = Uint8Array.of(9, 1, 2, 3, 9);
    const payloads = [
      Payload.inMemory(bytes, 1, 4),
      Payload.inStore(store, store.put(bytes.subarray(1, 4)) ?? "", 3),
      Payload.EMPTY,
    ];
    const read = payloads.map((payload) => [...(payload.read(decoder, verbatim) as Uint8Array)]);
    expect(read).toEqual([[1, 2, 3], [1, 2, 3], []]);
  });

  it("of nothing is undefined, whoever reads it", () => {
    expect(Payload.NONE.read(decoder, undefined)).toBeUndefined();
    expect(Payload.NONE.read(decoder, verbatim)).toBeUndefined();
    expect(Payload.NONE.place).toEqual({});
  });

  it("is taken out of its store into memory, and stays there", () => {
    const store = new MemoryStore();
    const bytes = encode(value);
    const inMemory = Payload.inStore(store, store.put(bytes) ?? "", bytes.length).intoMemory();
    expect([inMemory.isStored, inMemory.length, store.stored.size]).toEqual([false, bytes.length, 0]);
    expect(inMemory.intoMemory()).toBe(inMemory);
    expect(inMemory.read(decoder, undefined)).toEqual(value);
  });

  it("that nobody reads gives its room in the store away", () => {
    const store = new MemoryStore();
    Payload.inStore(store, "p7", 3).drop();
    Payload.inMemory(Uint8Array.of(1)).drop();
    expect(store.dropped).toEqual(["p7"]);
  });

  it.each([
    [STORE_FROM_BYTES, false],
    [STORE_FROM_BYTES + 1, true],
    [16 * 1024 * 1024, true],
    [16 * 1024 * 1024 + 1, false],
  ])("of %d bytes is stored: %s", (length, isStored) => {
    const stored = storePayload(new MemoryStore(), new Uint8Array(length));
    expect(stored?.length).toBe(isStored ? length : undefined);
  });
});

describe("IncomingPayloads", () => {
  const bytes = Uint8Array.of(1, 2, 3);
  const read = (payload: Payload): unknown => {
    const given = payload.read(decoder, verbatim);
    return given instanceof Uint8Array ? [...given] : given;
  };

  it("finds a payload in its frame, in chunks, in the store, or nowhere", () => {
    const payloads = new IncomingPayloads();
    const store = new MemoryStore();
    payloads.store = store;
    const file = store.put(bytes) ?? "";
    const writer = new BatchWriter(0);
    for (const [i, byte] of bytes.entries()) {
      writeFrame(writer, RequestField.chunk, [undefined, 5, Uint8Array.of(byte), i === 0 ? bytes.length : 0]);
    }
    const message = writer.take();
    const chunks = new FrameReader(15).open(message, 0, message.length);
    while (chunks.next() !== 0) payloads.addChunk(chunks);
    const places: PayloadPlace[] = [{ bytes }, { chunked: 3 }, { chunked: 3, file }, {}];
    expect(places.map((place) => read(payloads.take(outcome(5, place), 5, OutcomeField)))).toEqual([
      [1, 2, 3],
      [1, 2, 3],
      [1, 2, 3],
      undefined,
    ]);
    expect(payloads.take(outcome(5, {}), 5, OutcomeField, Payload.EMPTY)).toBe(Payload.EMPTY);
  });

  it("refuses a payload that is not where its frame says", () => {
    const payloads = new IncomingPayloads();
    expect(() => payloads.take(outcome(1, { chunked: 3 }), 1, OutcomeField)).toThrow(MalformedFrame);
    const elsewhere = outcome(1, { chunked: 3, file: "p0" });
    expect(() => payloads.take(elsewhere, 1, OutcomeField)).toThrow("this session shares no files");
    expect(() => payloads.drop(elsewhere, 1, OutcomeField)).toThrow(MalformedFrame);
    payloads.store = new MemoryStore();
    expect(() => payloads.take(elsewhere, 1, OutcomeField)).toThrow("there is no p0 of 3 bytes");
  });

  it("frees what nobody wants", () => {
    const payloads = new IncomingPayloads();
    const store = new MemoryStore();
    payloads.store = store;
    payloads.drop(outcome(1, { chunked: 3, file: "p4" }), 1, OutcomeField);
    payloads.drop(outcome(1, { bytes }), 1, OutcomeField);
    expect(store.dropped).toEqual(["p4"]);
  });
});

describe("Outbox with a store", () => {
  it("stores large payloads, and sends them itself when there is no room", () => {
    const store = new MemoryStore();
    const outbox = new Outbox({ send: () => true }, 0, RequestField.chunk);
    outbox.store = store;
    const places: PayloadPlace[] = [];
    const large = new Uint8Array(STORE_FROM_BYTES + 1);
    outbox.place(1, large.subarray(1), (place) => places.push(place));
    outbox.place(2, large, (place) => places.push(place));
    expect(places.map((place) => Object.keys(place))).toEqual([["bytes"], ["chunked", "file"]]);
    store.hasRoom = false;
    outbox.place(3, large, () => undefined);
    expect([outbox.isHeldUp(3), outbox.isEmpty]).toEqual([true, false]);
  });
});
