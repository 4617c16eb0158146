import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { StepKind as GeneratedStepKind, RequestSchema, ResponseSchema, TaskSchema } from "../gen/wool/v1/worker_pb.ts";
import { BatchWriter } from "./batch-writer.ts";
import { RequestField, ResponseField, StepKind } from "./fields.ts";
import { FrameReader, MalformedFrame, PASSED_OVER } from "./frame-reader.ts";
import * as requests from "./request-frames.ts";
import * as responses from "./response-frames.ts";

const HEADROOM = 5;
const id = fc.nat({ max: 2 ** 32 - 1 });
const bytes = fc.uint8Array({ maxLength: 300 });
const numbers = fc.array(id, { maxLength: 5 });

function written(write: (writer: BatchWriter) => void): Uint8Array {
  const writer = new BatchWriter(HEADROOM);
  write(writer);
  return Uint8Array.from(writer.take().subarray(HEADROOM));
}

describe("requests written by hand are what the generated code reads", () => {
  it("plain tasks", () => {
    fc.assert(
      fc.property(id, id, bytes, fc.maxSafeNat(), id, (task, route, args, sequence, pool) => {
        const message = fromBinary(
          RequestSchema,
          written((writer) => requests.writePlainTask(writer, task, route, args, 0, args.length, sequence, pool)),
        );
        expect(message.tasks).toHaveLength(1);
        expect(message.tasks[0]).toMatchObject({ id: task, route, sequence: BigInt(sequence), pool });
        expect(message.tasks[0]?.args).toEqual(args);
      }),
    );
  });

  it("tasks with everything", () => {
    fc.assert(
      fc.property(id, bytes, fc.string(), numbers, fc.boolean(), (task, payload, caller, needs, chunked) => {
        const place = chunked ? { chunked: payload.length + 1 } : { bytes: payload };
        const message = fromBinary(
          RequestSchema,
          written((writer) =>
            requests.writeTask(writer, task, 7, place, 9, {
              timeout: 2 ** 40,
              caller: caller,
              context: payload,
              pool: 3,
              needs,
            }),
          ),
        );
        expect(message.tasks[0]).toMatchObject({
          id: task,
          route: 7,
          sequence: 9n,
          timeoutMs: 2n ** 40n,
          caller: caller,
          pool: 3,
          needs,
          chunked: chunked ? BigInt(payload.length + 1) : 0n,
        });
        expect(message.tasks[0]?.args).toEqual(chunked ? new Uint8Array(0) : payload);
        expect(message.tasks[0]?.context).toEqual(payload);
      }),
    );
  });

  it("everything else, together in one batch", () => {
    const message = fromBinary(
      RequestSchema,
      written((writer) => {
        requests.writeHello(writer, {
          version: 3,
          minimum: 2,
          callerId: "c",
          lane: 1,
          oneKind: true,
          languages: ["node", ""],
          encodings: ["wool", "json"],
        });
        requests.writeStep(writer, 4, StepKind.throw, { bytes: Uint8Array.of(1) }, [2], 6);
        requests.writeCredit(writer, 5, 300);
        requests.writeCancel(writer, 6, Uint8Array.of(2), [1]);
        requests.writeAbort(writer, 6, 2, Uint8Array.of(9), [4], true);
        requests.writeShared(writer, 9, { chunked: 2 ** 40, file: "/dev/shm/f" });
        requests.writeShared(writer, 10, { bytes: Uint8Array.of(7) });
        requests.writeShared(writer, 11, undefined);
        requests.writeDropped(writer, 12);
        requests.writePoolReference(writer, 7, Uint8Array.of(3), Uint8Array.of(6), [5]);
        requests.writeRoute(writer, {
          number: 8,
          name: "add",
          code: Uint8Array.of(4),
          needs: [1, 200],
          streams: true,
          method: true,
          serializer: Uint8Array.of(5),
          fresh: true,
          replaces: 2,
          target: "py:shop:add",
          encoding: "json",
        });
      }),
    );
    expect(message.hello).toMatchObject({
      version: 3,
      minimumVersion: 2,
      callerId: "c",
      lane: 1,
      oneKind: true,
      languages: ["node", ""],
      encodings: ["wool", "json"],
    });
    expect(message.steps[0]).toMatchObject({ id: 4, kind: GeneratedStepKind.THROW, needs: [2], after: 6 });
    expect(message.credits[0]).toMatchObject({ id: 5, steps: 300 });
    expect(message.cancels[0]).toMatchObject({ id: 6, needs: [1] });
    expect(message.aborts[0]).toMatchObject({ id: 6, signal: 2, reason: Uint8Array.of(9), needs: [4], early: true });
    expect(message.shared).toMatchObject([
      { number: 9, chunked: 2n ** 40n, file: "/dev/shm/f", missing: false },
      { number: 10, value: Uint8Array.of(7), chunked: 0n, file: "", missing: false },
      { number: 11, chunked: 0n, missing: true },
    ]);
    expect(message.dropped).toMatchObject([{ number: 12 }]);
    expect(message.pools[0]).toMatchObject({ number: 7, balancer: Uint8Array.of(6), needs: [5] });
    expect(message.routes[0]).toMatchObject({
      number: 8,
      name: "add",
      needs: [1, 200],
      streams: true,
      method: true,
      fresh: true,
      replaces: 2,
      target: "py:shop:add",
      encoding: "json",
    });
  });
});

describe("responses written by hand are what the generated code reads", () => {
  it("outcomes", () => {
    fc.assert(
      fc.property(id, bytes, numbers, fc.boolean(), (task, value, needs, control) => {
        const message = fromBinary(
          ResponseSchema,
          written((writer) => {
            responses.writeSmallOutcome(writer, ResponseField.result, task, value, 0);
            responses.writeResults(writer, task, 3, value, needs);
            responses.writeOutcome(writer, ResponseField.yielded, task, { bytes: value }, needs, control);
            responses.writeOutcome(writer, ResponseField.raised, task, { chunked: 12 }, needs, false);
          }),
        );
        expect(message.results[0]).toMatchObject({ id: task, value });
        expect(message.results[1]).toMatchObject({ id: task, value, item: 3, items: needs });
        expect(message.yielded[0]).toMatchObject({ id: task, value, needs, control });
        expect(message.raised[0]).toMatchObject({ id: task, chunked: 12n, needs });
      }),
    );
  });

  it("everything else", () => {
    const message = fromBinary(
      ResponseSchema,
      written((writer) => {
        responses.writeWelcome(writer, {
          version: 1,
          workerUid: "w",
          lanes: 2,
          maxConcurrency: 9,
          sharesFiles: true,
          oneKind: true,
          languages: ["py"],
          encodings: ["json"],
          laneSocket: "w.1",
          laneTicket: "secret",
        });
        responses.writeAccepted(writer, 70_000);
        responses.writeRejected(writer, 3, { status: 14, message: "no" });
        responses.writeExecutorLost(writer, "gone", 70_000, 0);
        responses.writePace(writer, 1234, 300);
        responses.writeWanted(writer, 5, true);
      }),
    );
    expect(message.welcome).toMatchObject({
      version: 1,
      workerUid: "w",
      lanes: 2,
      maxConcurrency: 9,
      sharesFiles: true,
      oneKind: true,
      languages: ["py"],
      encodings: ["json"],
      laneSocket: "w.1",
      laneTicket: "secret",
    });
    expect(message.accepted[0]?.id).toBe(70_000);
    expect(message.rejected[0]).toMatchObject({ id: 3, status: 14, message: "no" });
    expect(message.executorsLost[0]).toMatchObject({ reason: "gone", task: 1, taken: 70_000n });
    expect(message.paces).toMatchObject([{ taskUs: 1234, costUs: 300 }]);
    expect(message.wanted).toMatchObject([{ number: 5, withoutFile: true }]);
  });
});

describe("FrameReader", () => {
  it("reads what the generated code writes", () => {
    fc.assert(
      fc.property(id, bytes, fc.maxSafeNat(), numbers, (task, args, sequence, needs) => {
        const binary = toBinary(
          RequestSchema,
          create(RequestSchema, {
            tasks: [create(TaskSchema, { id: task, args, sequence: BigInt(sequence), needs, caller: "häß" })],
          }),
        );
        const frame = new FrameReader(15).open(Buffer.from(binary), 0, binary.length);
        expect(frame.next()).toBe(RequestField.task);
        expect(frame.integer(requests.TaskField.id)).toBe(task);
        expect(frame.integer(requests.TaskField.sequence)).toBe(sequence);
        expect(frame.integers(requests.TaskField.needs)).toEqual(needs);
        expect(frame.text(requests.TaskField.caller)).toBe("häß");
        expect(Uint8Array.from(frame.view(requests.TaskField.args))).toEqual(args);
        expect(frame.next()).toBe(0);
      }),
    );
  });

  it("reads every text of a repeated field", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 4 }),
        fc.array(fc.string(), { maxLength: 4 }),
        (languages, encodings) => {
          const binary = toBinary(
            ResponseSchema,
            create(ResponseSchema, { welcome: { version: 7, languages, encodings, oneKind: true } }),
          );
          const frame = new FrameReader(15).open(Buffer.from(binary), 0, binary.length);
          expect(frame.next()).toBe(ResponseField.welcome);
          expect(frame.texts(responses.WelcomeField.languages)).toEqual(languages);
          expect(frame.texts(responses.WelcomeField.encodings)).toEqual(encodings);
          expect(frame.texts(responses.WelcomeField.workerUid)).toEqual([]);
          expect(frame.next()).toBe(0);
        },
      ),
    );
  });

  it("skips fields and frames that it does not know", () => {
    const unknownFrame = [0xfa, 0x01, 0x02, 0xff, 0xff];
    const unknownInteger = [0x50, 0x05];
    const taskWithUnknownField = [0x12, 0x05, 0x08, 0x03, 0xc0, 0x01, 0x07];
    const message = Buffer.from([...unknownFrame, ...unknownInteger, ...taskWithUnknownField]);
    const frame = new FrameReader(15).open(message, 0, message.length);
    expect(frame.next()).toBe(RequestField.task);
    expect(frame.integer(requests.TaskField.id)).toBe(3);
    expect(frame.next()).toBe(0);
  });

  it("lets its user take breaks from frames that it does not know", () => {
    const unknown = Buffer.alloc(2 * 1000, Buffer.from([0x50, 0x05]));
    const message = Buffer.concat([unknown, Buffer.from([0x12, 0x02, 0x08, 0x03])]);
    const frame = new FrameReader(15).open(message, 0, message.length);
    const kinds: number[] = [];
    for (let kind = frame.next(); kind !== 0; kind = frame.next()) kinds.push(kind);
    expect(kinds).toEqual([PASSED_OVER, PASSED_OVER, PASSED_OVER, RequestField.task]);
  });

  it("takes a field of the wrong kind for empty, whatever the frame before had there", () => {
    const reader = new FrameReader(RequestField.chunk);
    const frame = (...fields: number[]): Buffer =>
      Buffer.from([(RequestField.chunk << 3) | 2, fields.length, ...fields]);
    const [ID, DATA] = [1, 2];
    const bytes = Buffer.concat([
      frame(ID << 3, 5, (DATA << 3) | 2, 2, 9, 9),
      frame((ID << 3) | 2, 1, 7, DATA << 3, 1),
    ]);
    reader.open(bytes, 0, bytes.length).next();
    expect([reader.integer(ID), reader.view(DATA).length]).toEqual([5, 2]);
    reader.next();
    expect([reader.integer(ID), reader.view(DATA).length, reader.integers(DATA)]).toEqual([0, 0, []]);
  });

  it("refuses a frame of very many fields", () => {
    const fields = Buffer.alloc(2 * 20_000, Buffer.from([0x08, 0x03]));
    const message = Buffer.concat([Buffer.from([0x12, 0xc0, 0xb8, 0x02]), fields]);
    const frame = new FrameReader(15).open(message, 0, message.length);
    expect(() => frame.next()).toThrow("more than 10000 fields in a frame");
  });

  it("reads any bytes without doing more than throwing MalformedFrame", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (garbage) => {
        const frame = new FrameReader(15).open(Buffer.from(garbage), 0, garbage.length);
        try {
          for (let kind = frame.next(); kind !== 0; kind = frame.next()) {
            for (let field = 1; field < 16; field++) {
              expect(frame.end(field)).toBeLessThanOrEqual(garbage.length);
              frame.integers(field);
              frame.texts(field);
            }
          }
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedFrame);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it("says what is wrong with a truncated message", () => {
    const message = Buffer.from([0x12, 0x7f, 0x08]);
    expect(() => new FrameReader(15).open(message, 0, message.length).next()).toThrow(/127 bytes reaches past/);
  });
});

describe("BatchWriter", () => {
  it("puts batches together by concatenation and leaves headroom in front of each message", () => {
    const writer = new BatchWriter(HEADROOM);
    requests.writeCredit(writer, 1, 1);
    const first = writer.take();
    requests.writeCredit(writer, 2, 1);
    const second = writer.take();
    const joined = Buffer.concat([first.subarray(HEADROOM), second.subarray(HEADROOM)]);
    expect(fromBinary(RequestSchema, joined).credits.map((credit) => credit.id)).toEqual([1, 2]);
    expect(writer.size).toBe(0);
  });

  it("grows beyond its slab without losing what was written", () => {
    const writer = new BatchWriter(HEADROOM);
    const big = new Uint8Array(200_000).fill(7);
    responses.writeAccepted(writer, 1);
    responses.writeSmallOutcome(writer, ResponseField.result, 1, big, 0);
    const message = fromBinary(ResponseSchema, writer.take().subarray(HEADROOM));
    expect(Uint8Array.from(message.results[0]?.value ?? [])).toEqual(big);
  });
});
