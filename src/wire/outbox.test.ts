import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BatchWriter } from "./batch-writer.ts";
import { ChunkAssembly } from "./chunk-assembly.ts";
import { RequestField } from "./fields.ts";
import { FrameReader, MalformedFrame } from "./frame-reader.ts";
import { writeFrame } from "./frame-writer.ts";
import { INLINE_LIMIT_BYTES, LEAST_MESSAGE_BYTES, Outbox } from "./outbox.ts";
import type { PayloadPlace } from "./payload.ts";
import { writeCancel, writeCredit, writeTask } from "./request-frames.ts";

class Pipe {
  readonly messages: Buffer[] = [];
  writable = true;
  send(message: Buffer): boolean {
    this.messages.push(Buffer.from(message));
    return this.writable;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function frames(messages: readonly Buffer[]): { kind: number; frame: FrameReader }[] {
  return messages.map((message) => {
    const frame = new FrameReader(15).open(message, 0, message.length);
    return { kind: frame.next(), frame };
  });
}

describe("Outbox", () => {
  it("keeps small payloads inside their frame", () => {
    const outbox = new Outbox(new Pipe(), 0, RequestField.chunk);
    const places: PayloadPlace[] = [];
    outbox.place(1, Uint8Array.of(1, 2), (place) => places.push(place));
    expect(places).toEqual([{ bytes: Uint8Array.of(1, 2) }]);
  });

  it("sends messages of one kind each to a peer that wants them, in the same order", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat({ max: 2 }), fc.nat({ max: 300 })), { maxLength: 20 }), (frameList) => {
        const write = (oneKind: boolean): Buffer[] => {
          const pipe = new Pipe();
          const outbox = new Outbox(pipe, 5, RequestField.chunk);
          outbox.oneKind = oneKind;
          for (const [kind, size] of frameList) {
            if (kind === 0) writeCredit(outbox.writer, size, 1);
            else if (kind === 1) writeCancel(outbox.writer, size, new Uint8Array(size), []);
            else writeFrame(outbox.writer, RequestField.route, [undefined, size, "x".repeat(size)]);
          }
          outbox.flush();
          return pipe.messages.map((message) => message.subarray(5));
        };
        const parts = write(true);
        expect(Buffer.concat(parts)).toEqual(Buffer.concat(write(false)));
        const kinds = parts.map((part) => {
          const frame = new FrameReader(15).open(part, 0, part.length);
          const found = new Set<number>();
          for (let kind = frame.next(); kind !== 0; kind = frame.next()) found.add(kind);
          return [...found];
        });
        for (const [index, found] of kinds.entries()) {
          expect(found).toHaveLength(1);
          expect(found).not.toEqual(kinds[index - 1]);
        }
      }),
    );
  });

  it("sends no message above its limit, and every frame in its order", async () => {
    const pipe = new Pipe();
    const outbox = new Outbox(pipe, 5, RequestField.chunk);
    outbox.limitMessages(LEAST_MESSAGE_BYTES);
    const written: number[] = [];
    for (let id = 0; id < 40; id++) {
      outbox.place(id, new Uint8Array(id * 10_000), (place) => {
        written.push(id);
        writeTask(outbox.writer, id, 1, place, id, {});
      });
    }
    outbox.flush();
    for (let turns = 0; !outbox.isEmpty && turns < 1000; turns++) await turn();
    outbox.flush();
    expect(written).toHaveLength(40);
    const sizes = pipe.messages.map((message) => message.length - 5);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(LEAST_MESSAGE_BYTES);
    const tasks = new Set<number>();
    for (const message of pipe.messages) {
      const frame = new FrameReader(15).open(message, 5, message.length);
      for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
        if (kind === RequestField.task) tasks.add(frame.integer(1));
      }
    }
    expect(tasks.size).toBe(40);
  });

  it("sends a batch beyond what every library takes in several messages", () => {
    const pipe = new Pipe();
    const outbox = new Outbox(pipe, 5, RequestField.chunk);
    for (let id = 0; id < 30; id++) {
      outbox.place(id, new Uint8Array(250_000), (place) => writeTask(outbox.writer, id, 1, place, id, {}));
    }
    outbox.flush();
    expect(pipe.messages).toHaveLength(2);
    expect(Math.max(...pipe.messages.map(({ length }) => length))).toBeLessThan(4 * 1024 * 1024);
  });

  it("cuts large payloads into chunks that come together again, small frames between them", async () => {
    const pipe = new Pipe();
    const outbox = new Outbox(pipe, 0, RequestField.chunk);
    const payload = new Uint8Array(INLINE_LIMIT_BYTES * 3 + 17).map((_, i) => i % 251);
    const places: PayloadPlace[] = [];
    pipe.writable = false;
    outbox.place(9, payload, (place) => places.push(place));
    payload.fill(0);
    await turn();
    expect(pipe.messages).toHaveLength(1);
    writeCredit(outbox.writer, 1, 1);
    outbox.flush();
    pipe.writable = true;
    outbox.drained();
    await turn();
    const kinds = frames(pipe.messages).map(({ kind }) => kind);
    expect(kinds.slice(0, 3)).toEqual([RequestField.chunk, RequestField.credit, RequestField.chunk]);
    expect(places).toEqual([{ chunked: payload.length }]);
    const assembly = new ChunkAssembly();
    for (const { kind, frame } of frames(pipe.messages)) if (kind === RequestField.chunk) assembly.add(frame);
    const whole = assembly.take(9, payload.length);
    expect(whole.every((byte, i) => byte === i % 251)).toBe(true);
  });

  it("keeps the order of what is written for one id, also behind a payload in chunks", async () => {
    const outbox = new Outbox(new Pipe(), 0, RequestField.chunk);
    const order: string[] = [];
    outbox.place(1, new Uint8Array(INLINE_LIMIT_BYTES + 1), () => order.push("large"));
    outbox.place(1, Uint8Array.of(1), () => order.push("small"));
    outbox.place(1, new Uint8Array(INLINE_LIMIT_BYTES + 2), () => order.push("larger"));
    outbox.inOrder(1, () => order.push("last"));
    outbox.place(2, Uint8Array.of(1), () => order.push("other id"));
    expect(outbox.isHeldUp(1)).toBe(true);
    while (order.length < 5) await turn();
    expect(order).toEqual(["other id", "large", "small", "larger", "last"]);
    expect(outbox.isHeldUp(1)).toBe(false);
  });

  it("sends no more than one chunk while the way out is blocked", async () => {
    const pipe = new Pipe();
    pipe.writable = false;
    const outbox = new Outbox(pipe, 0, RequestField.chunk);
    outbox.place(1, new Uint8Array(INLINE_LIMIT_BYTES * 8), () => undefined);
    for (let i = 0; i < 5; i++) await turn();
    expect(pipe.messages).toHaveLength(1);
  });

  it("forgets a payload that nobody wants", async () => {
    const pipe = new Pipe();
    const outbox = new Outbox(pipe, 0, RequestField.chunk);
    outbox.place(1, new Uint8Array(INLINE_LIMIT_BYTES * 8), () => expect.unreachable());
    outbox.abandon(1);
    await turn();
    expect(pipe.messages).toHaveLength(0);
  });
});

describe("ChunkAssembly", () => {
  const chunk = (id: number, data: Uint8Array, total: number): FrameReader => {
    const writer = new BatchWriter(0);
    writeFrame(writer, RequestField.chunk, [undefined, id, data, total]);
    const message = writer.take();
    const frame = new FrameReader(15).open(message, 0, message.length);
    frame.next();
    return frame;
  };

  it("puts payloads together whose chunks are interleaved", () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 6 }),
        (payloads) => {
          const assembly = new ChunkAssembly();
          const longest = Math.max(...payloads.map((payload) => payload.length));
          for (let at = 0; at < longest; at += 7) {
            payloads.forEach((payload, id) => {
              const piece = payload.subarray(at, at + 7);
              if (piece.length > 0) assembly.add(chunk(id, piece, at === 0 ? payload.length : 0));
            });
          }
          payloads.forEach((payload, id) => {
            expect(Uint8Array.from(assembly.take(id, payload.length))).toEqual(payload);
          });
        },
      ),
    );
  });

  it("refuses what does not add up", () => {
    const assembly = new ChunkAssembly();
    assembly.add(chunk(1, Uint8Array.of(1, 2), 3));
    expect(() => assembly.add(chunk(1, Uint8Array.of(1, 2), 0))).toThrow(MalformedFrame);
    expect(() => assembly.take(1, 3)).toThrow(/2 of 3 bytes/);
    expect(() => assembly.take(8, 1)).toThrow(MalformedFrame);
    expect(() => assembly.add(chunk(2, Uint8Array.of(1), 0))).toThrow(MalformedFrame);
  });
});
