import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Deframer } from "./deframer.ts";
import { StatusCode } from "./status.ts";

function frame(message: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

/** Cuts bytes at the given places, taken modulo their length. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const sorted = places.map((place) => place % (bytes.length + 1)).toSorted((a, b) => a - b);
  return [0, ...sorted].map((from, index) => bytes.subarray(from, sorted[index] ?? bytes.length));
}

function collect(received: Buffer[], maxMessageBytes?: number): Deframer {
  return new Deframer((buffer, start, end) => received.push(buffer.subarray(start, end)), maxMessageBytes);
}

describe("Deframer", () => {
  it("gives back every message, wherever the stream is cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 12 }),
        fc.array(fc.nat(), { maxLength: 30 }),
        (messages, places) => {
          const received: Buffer[] = [];
          const deframer = collect(received);
          for (const chunk of cut(Buffer.concat(messages.map((message) => frame(message))), places))
            deframer.push(chunk);
          expect(received.map((message) => [...message])).toEqual(messages.map((message) => [...message]));
          expect(deframer.midMessage).toBe(false);
        },
      ),
    );
  });

  it.each([65_536, 65_537, 1_048_576, 1_048_577, 5_000_000])(
    "fills a message of %i bytes from small chunks",
    (size) => {
      const message = Buffer.alloc(size);
      for (let at = 0; at < size; at += 97) message[at] = at;
      const stream = Buffer.concat([frame(Buffer.from("a")), frame(message), frame(Buffer.from("z"))]);
      const received: Buffer[] = [];
      const deframer = collect(received);
      for (let at = 0; at < stream.length; at += 16_384) deframer.push(stream.subarray(at, at + 16_384));
      expect(received.map(({ length }) => length)).toEqual([1, size, 1]);
      expect(received[1]?.equals(message)).toBe(true);
    },
  );

  it("tells how much it holds of a large message that is not whole, and of no small one", () => {
    let held = 0;
    const told: [number, number][] = [];
    const deframer = collect([]);
    deframer.held = (bytes, filled) => {
      held += bytes;
      told.push([held, filled]);
    };
    for (const size of [60_000, 200_000]) {
      const bytes = frame(Buffer.alloc(size));
      for (let at = 0; at < bytes.length; at += 50_000) deframer.push(bytes.subarray(at, at + 50_000));
    }
    const size = 200_000;
    expect(told).toEqual([...[49_995, 99_995, 149_995, 199_995].map((filled) => [size, filled]), [0, 0]]);
    deframer.push(frame(Buffer.alloc(5_000_000)).subarray(0, 1_500_000));
    // Memory for more than 1 MiB follows what has come.
    expect([held, told.at(-1)?.[1]]).toEqual([2 * 1024 * 1024, 1_499_995]);
    deframer.stop();
    expect(held).toBe(0);
  });

  it("owns the memory of a large message alone, so that it can be transferred", () => {
    const message = frame(Buffer.alloc(200_000, 1));
    const owned: boolean[] = [];
    const deframer = new Deframer((buffer, start, end) =>
      owned.push(start === 0 && end === buffer.length && buffer.byteLength === buffer.buffer.byteLength),
    );
    deframer.push(message.subarray(0, 1000));
    deframer.push(message.subarray(1000));
    expect(owned).toEqual([true]);
  });

  it("does not reserve the length that a peer merely claims", () => {
    const before = process.memoryUsage().arrayBuffers;
    const claims = Array.from({ length: 20 }, () => {
      const deframer = collect([]);
      deframer.push(Buffer.from([0, 3, 0, 0, 0]));
      return deframer;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * 1024 * 1024);
    expect(claims.every(({ midMessage }) => midMessage)).toBe(true);
  });

  it("refuses a message above the limit before it is there", () => {
    const received: Buffer[] = [];
    const deframer = collect(received, 10);
    deframer.push(frame(Buffer.alloc(10)));
    expect(() => deframer.push(Buffer.from([0, 0, 0, 0, 11]))).toThrow(
      expect.objectContaining({ code: StatusCode.RESOURCE_EXHAUSTED, message: expect.stringContaining("11 bytes") }),
    );
    expect(received).toHaveLength(1);
  });

  it.each([
    { flag: 1, encoding: "gzip", code: StatusCode.UNIMPLEMENTED },
    { flag: 1, encoding: "identity", code: StatusCode.INTERNAL },
    { flag: 1, encoding: undefined, code: StatusCode.INTERNAL },
    { flag: 9, encoding: "gzip", code: StatusCode.INTERNAL },
  ])("refuses flag $flag with encoding $encoding", ({ flag, encoding, code }) => {
    const deframer = collect([]);
    deframer.encoding = encoding;
    expect(() => deframer.push(frame(Buffer.from("x"), flag))).toThrow(expect.objectContaining({ code }));
  });

  it("delivers nothing after stop, not even the rest of the chunk", () => {
    const received: number[] = [];
    const deframer = new Deframer((buffer, start) => {
      received.push(buffer[start] ?? -1);
      deframer.stop();
    });
    deframer.push(Buffer.concat([frame(Buffer.from([1])), frame(Buffer.from([2]))]));
    deframer.push(frame(Buffer.from([3])));
    expect(received).toEqual([1]);
  });

  it("delivers nothing while it is held, not even the rest of the chunk, and all of it in order afterwards", () => {
    const received: number[] = [];
    const deframer = new Deframer((buffer, start) => {
      received.push(buffer[start] ?? -1);
      deframer.hold();
    });
    const [begun = Buffer.alloc(0), rest = Buffer.alloc(0)] = cut(frame(Buffer.from([4])), [3]);
    deframer.push(Buffer.concat([frame(Buffer.from([1])), frame(Buffer.from([2])), frame(Buffer.from([3])), begun]));
    deframer.push(rest);
    expect([received, deframer.holdsBytes]).toEqual([[1], true]);
    for (let i = 2; i <= 4; i++) deframer.release();
    expect([received, deframer.holdsBytes]).toEqual([[1, 2, 3, 4], false]);
    deframer.push(frame(Buffer.from([5])));
    deframer.stop();
    deframer.release();
    expect(received).toEqual([1, 2, 3, 4]);
  });

  it("takes smaller messages when told so, and never larger ones than it was made for", () => {
    const received: Buffer[] = [];
    const deframer = collect(received, 100);
    deframer.limitMessages(10);
    expect(() => deframer.push(frame(Buffer.alloc(11)))).toThrow("larger than the limit of 10 bytes");
    deframer.limitMessages(Number.POSITIVE_INFINITY);
    deframer.push(frame(Buffer.alloc(100)));
    expect(received.map(({ length }) => length)).toEqual([100]);
    expect(() => deframer.push(frame(Buffer.alloc(101)))).toThrow("larger than the limit of 100 bytes");
  });

  it("says whether it is inside a message", () => {
    const deframer = collect([]);
    const [first, second, third] = cut(frame(Buffer.from("abc")), [3, 6]);
    const seen = [first, second, third].map((chunk) => {
      deframer.push(chunk ?? Buffer.alloc(0));
      return deframer.midMessage;
    });
    expect(seen).toEqual([true, true, false]);
  });
});
