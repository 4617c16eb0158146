import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { DescribeResponseSchema, IdleResponseSchema, StopRequestSchema } from "../gen/wool/v1/worker_pb.ts";
import {
  encodeDescribeResponse,
  encodeIdleResponse,
  encodeStopRequest,
  readDescribeResponse,
  readIdleResponse,
  readStopRequest,
} from "./control-messages.ts";
import { MalformedFrame } from "./frame-reader.ts";

it.each([0, 1, 63, 64, 60_000, 2 ** 40, -1])(
  "a stop with timeout %s is what the generated code reads and writes",
  (ms) => {
    expect(fromBinary(StopRequestSchema, encodeStopRequest(ms)).timeoutMs).toBe(BigInt(ms));
    expect(readStopRequest(toBinary(StopRequestSchema, create(StopRequestSchema, { timeoutMs: BigInt(ms) })))).toBe(ms);
  },
);

it("an infinite timeout means to wait for all", () => {
  expect(readStopRequest(encodeStopRequest(Number.POSITIVE_INFINITY))).toBeLessThan(0);
});

it.each([0, 0.25, 1e6])("an idle time of %s seconds is what the generated code reads and writes", (seconds) => {
  expect(fromBinary(IdleResponseSchema, encodeIdleResponse(seconds)).seconds).toBe(seconds);
  expect(readIdleResponse(toBinary(IdleResponseSchema, create(IdleResponseSchema, { seconds })))).toBe(seconds);
});

it("a description is what the generated code reads and writes", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", minLength: 1, maxLength: 400 }), (metadata) => {
      expect(fromBinary(DescribeResponseSchema, encodeDescribeResponse(metadata)).metadata).toBe(metadata);
      const generated = toBinary(DescribeResponseSchema, create(DescribeResponseSchema, { metadata }));
      expect(readDescribeResponse(generated)).toBe(metadata);
    }),
  );
  expect(() => readDescribeResponse(encodeIdleResponse(1))).toThrow(MalformedFrame);
});

describe("fields that are not known", () => {
  const unknown = [
    [0x10, 5],
    [0x11, 1, 2, 3, 4, 5, 6, 7, 8],
    [0x12, 2, 0x08, 9],
    [0x15, 1, 2, 3, 4],
    [0xf8, 0xff, 0xff, 0xff, 0x0f, 1],
  ];

  it.each(unknown)("are passed over, before and behind (%i)", (...field) => {
    expect(readStopRequest(Uint8Array.from([...field, 0x08, 1, ...field]))).toBe(-1);
    expect(readIdleResponse(Uint8Array.from([...field, ...encodeIdleResponse(2.5), ...field]))).toBe(2.5);
  });
});

it("a time of another type than it should have is an error, not a time of 0", () => {
  expect(() => readStopRequest(encodeIdleResponse(1))).toThrow(MalformedFrame);
  expect(() => readIdleResponse(encodeStopRequest(1))).toThrow(MalformedFrame);
});

it("of a field that comes twice the last counts", () => {
  expect(readStopRequest(Uint8Array.of(0x08, 2, 0x08, 4))).toBe(2);
});

it("a time of 64 bits is read", () => {
  for (const timeoutMs of [2n ** 63n - 1n, -(2n ** 63n)]) {
    expect(readStopRequest(toBinary(StopRequestSchema, create(StopRequestSchema, { timeoutMs })))).toBe(
      Number(timeoutMs),
    );
  }
});

it.each([
  ["an integer that does not end", [0xff, 0xff, 0xff]],
  ["a field without its value", [0x08]],
  ["an integer of eleven bytes", [0x08, ...new Array<number>(10).fill(0xff), 1]],
  ["a double that is cut off", [0x09, 1, 2, 3]],
  ["bytes that are cut off", [0x12, 5, 1]],
  ["a field of number 0", [0x00, 1]],
  ["a wire type that there is not", [0x0f]],
])("%s is an error, not a time of 0", (_what, bytes) => {
  expect(() => readStopRequest(Uint8Array.from(bytes))).toThrow(MalformedFrame);
  expect(() => readIdleResponse(Uint8Array.from(bytes))).toThrow(MalformedFrame);
});

it("any bytes are read as the generated code reads them, or are an error", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      let timeout: number;
      try {
        timeout = readStopRequest(bytes);
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedFrame);
        return;
      }
      expect(timeout).toBe(Number(fromBinary(StopRequestSchema, bytes).timeoutMs));
    }),
    { numRuns: 1000 },
  );
});
