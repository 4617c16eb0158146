import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { copyPayload, encode, type Serializer, ValueDecoder } from "../values/index.ts";
import { BatchWriter } from "./batch-writer.ts";
import { RequestField, ResponseField } from "./fields.ts";
import { FrameReader, MalformedFrame } from "./frame-reader.ts";
import { writeFrame } from "./frame-writer.ts";
import { IncomingPayloads } from "./incoming-payloads.ts";
import { Outbox } from "./outbox.ts";
import {
  type OpenPayload,
  Payload,
  type PayloadPlace,
  type PayloadStore,
  STORE_FROM_BYTES,
  storePayload,
} from "./payload.ts";
import { OutcomeField, writeOutcome } from "./response-frames.ts";

const decoder = new ValueDecoder();
/** Keeps the bytes that it is given. */
const verbatim: Serializer = { dumps: () => new Uint8Array(0), loads: (bytes) => bytes };

/** A store in memory that counts what is done to it. */
class MemoryStore implements PayloadStore {
  readonly stored = new Map<string, Buffer>();
  readonly dropped: string[] = [];
  hasRoom = true;
  /** Payloads that are open. */
  opened = 0;
  /** The last `shrink`: nothing from this byte on can be read. */
  shrunkTo = Number.POSITIVE_INFINITY;

  put(payload: Parameters<PayloadStore["put"]>[0]): string | undefined {
    if (!this.hasRoom) return undefined;
    const name = `p${this.stored.size}`;
    this.stored.set(name, copyPayload(payload));
    return name;
  }

  check(name: string, length: number): void {
    if (this.stored.get(name)?.length !== length) throw new Error(`there is no ${name} of ${length} bytes`);
  }

  open(name: string, length: number): OpenPayload {
    this.check(name, length);
    const bytes = this.stored.get(name) ?? Buffer.alloc(0);
    this.opened++;
    return {
      length,
      read: (target, at) => {
        expect(at + target.length).toBeLessThanOrEqual(Math.min(length, this.shrunkTo));
        bytes.copy(target, 0, at, at + target.length);
      },
      shrink: (end) => {
        this.shrunkTo = end;
      },
      close: (taken) => {
        this.opened--;
        if (taken) this.stored.delete(name);
      },
    };
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
    [64 * 1024 * 1024, true],
  ])("of %d bytes is stored: %s", (length, isStored) => {
    const stored = storePayload(new MemoryStore(), new Uint8Array(length));
    expect(stored?.length).toBe(isStored ? length : undefined);
  });
});

describe("a large payload in a store", () => {
  const MEGABYTE = 1024 * 1024;
  const wanted = () => true;
  const pattern = (length: number, seed: number) =>
    Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 12) + seed) & 255);
  const storeOf = (value: unknown) => {
    const store = new MemoryStore();
    const bytes = encode(value);
    const payload = Payload.inStore(store, store.put(bytes) ?? "", bytes.length);
    return { store, payload };
  };

  it.each([
    [new Uint8Array(2 * MEGABYTE - 100), false],
    [new Uint8Array(2 * MEGABYTE), true],
  ])("is one of more than 2 MB", (value, isLarge) => {
    expect(storeOf(value).payload.isLarge).toBe(isLarge);
    expect(Payload.inMemory(encode(value)).isLarge).toBe(false);
  });

  it("is read a slice at a time from its end, so that others have their turns and no byte is there twice", async () => {
    const data = [pattern(3 * MEGABYTE + 5, 1), pattern(1_600_000, 2)];
    const { store, payload } = storeOf({ name: "x", data });
    const reading = payload.readInSlices(decoder, undefined, wanted);
    const rest: number[] = [];
    let isDone = false;
    void reading.done.then(() => {
      isDone = true;
    });
    while (!isDone) {
      await turn();
      rest.push(store.shrunkTo);
    }
    expect(rest.length).toBeGreaterThanOrEqual(6);
    expect(rest).toEqual(rest.toSorted((a, b) => b - a));
    expect(rest.at(-1)).toBeLessThan(1000);
    const copy = reading.value() as { name: string; data: Uint8Array[] };
    expect(copy.name).toBe("x");
    expect(data.map((bytes, i) => Buffer.compare(bytes, copy.data[i] ?? new Uint8Array(0)))).toEqual([0, 0]);
    expect([store.opened, store.stored.size]).toEqual([0, 0]);
    payload.drop();
    expect(store.dropped).toEqual([]);
  });

  it("takes turns with others", async () => {
    const [first, second] = [storeOf(pattern(4 * MEGABYTE, 1)), storeOf(pattern(4 * MEGABYTE, 2))];
    const readings = [first, second].map(({ payload }) => payload.readInSlices(decoder, undefined, wanted));
    for (let i = 0; i < 4; i++) await turn();
    expect(first.store.shrunkTo).toBe(second.store.shrunkTo);
    expect(first.store.shrunkTo).toBeLessThan(3 * MEGABYTE);
    await Promise.all(readings.map(({ done }) => done));
    expect(readings.map((reading) => (reading.value() as Uint8Array)[MEGABYTE])).toEqual(
      [1, 2].map((seed) => pattern(4 * MEGABYTE, seed)[MEGABYTE]),
    );
  });

  it("gives a serializer all of its bytes, and blobs their own", async () => {
    const bytes = encode(pattern(3 * MEGABYTE, 3));
    const store = new MemoryStore();
    const reading = Payload.inStore(store, store.put(bytes) ?? "", bytes.length).readInSlices(
      decoder,
      verbatim,
      wanted,
    );
    await reading.done;
    expect(Buffer.compare(reading.value() as Uint8Array, bytes)).toBe(0);

    const data = pattern(3 * MEGABYTE, 4);
    const blobs = storeOf([new Blob([data]), data]).payload.readInSlices(decoder, undefined, wanted);
    await blobs.done;
    const [blob, copy] = blobs.value() as [Blob, Uint8Array];
    expect(Buffer.compare(new Uint8Array(await blob.arrayBuffer()), data)).toBe(0);
    expect(Buffer.compare(copy, data)).toBe(0);
  });

  it("is not read to its end when nobody wants it any more, and its room is ours", async () => {
    const { store, payload } = storeOf(pattern(8 * MEGABYTE, 5));
    let isWanted = true;
    const reading = payload.readInSlices(decoder, undefined, () => isWanted);
    await turn();
    await turn();
    isWanted = false;
    await reading.done;
    expect(store.shrunkTo).toBeGreaterThan(5 * MEGABYTE);
    expect([store.opened, store.stored.size]).toEqual([0, 0]);
  });

  it("that cannot be read says so, at once or when it turns out", async () => {
    const store = new MemoryStore();
    const nonsense = Payload.inStore(store, store.put(new Uint8Array(3 * MEGABYTE)) ?? "", 3 * MEGABYTE);
    expect(() => nonsense.readInSlices(decoder, undefined, wanted)).toThrow("not a supported format");
    // It stays stored until it is dropped.
    expect([store.opened, store.stored.size]).toEqual([0, 1]);
    nonsense.drop();
    nonsense.drop();
    expect(store.dropped).toEqual(["p0"]);

    const { store: failing, payload } = storeOf(pattern(3 * MEGABYTE, 6));
    const reading = payload.readInSlices(decoder, undefined, wanted);
    failing.shrunkTo = 0;
    await expect(reading.done).rejects.toThrow();
    expect([failing.opened, failing.stored.size]).toEqual([0, 0]);
  });

  it("that is held can be read when its name is gone", () => {
    const { store, payload } = storeOf("text");
    payload.hold();
    store.stored.clear();
    expect(payload.read(decoder, undefined)).toBe("text");
    expect(store.opened).toBe(0);
    const { store: other, payload: unread } = storeOf("text");
    unread.hold();
    unread.drop();
    expect([other.opened, other.stored.size]).toEqual([0, 0]);
  });

  it("whose reading fails is still where it was: another worker may need it", () => {
    const { store, payload } = storeOf("text");
    const refusing: Serializer = {
      dumps: () => new Uint8Array(0),
      loads: () => {
        throw new RangeError("not mine");
      },
    };
    const failing = { decodeFrom: () => refusing.loads(new Uint8Array(0)) } as unknown as ValueDecoder;
    expect(() => payload.read(failing, undefined)).toThrow(RangeError);
    expect([store.opened, store.stored.size]).toEqual([0, 1]);
    expect(payload.read(decoder, undefined)).toBe("text");
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
