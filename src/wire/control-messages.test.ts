import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { expect, it } from "vitest";
import { encodeIdleResponse, encodeStopRequest, readIdleResponse, readStopRequest } from "./control-messages.ts";
import { IdleResponseSchema, StopRequestSchema } from "./gen/wool/v1/worker_pb.ts";

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
