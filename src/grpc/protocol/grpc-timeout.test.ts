import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatGrpcTimeout, parseGrpcTimeout } from "./grpc-timeout.ts";

describe("grpc-timeout", () => {
  it("keeps a duration, rounded up by less than a second or, beyond years, an hour", () => {
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1e14, noNaN: true }), (milliseconds) => {
        const field = formatGrpcTimeout(milliseconds);
        expect(field).toMatch(/^\d{1,8}[mSH]$/);
        const parsed = parseGrpcTimeout(field);
        expect(parsed).toBeGreaterThanOrEqual(milliseconds);
        expect(parsed).toBeLessThanOrEqual(
          milliseconds + (milliseconds < 1e8 ? 1 : milliseconds < 1e11 ? 1000 : 3_601_000),
        );
      }),
    );
  });

  it("knows every unit", () => {
    expect(["1H", "1M", "1S", "1m", "1000u", "1000000n"].map(parseGrpcTimeout)).toEqual([
      3_600_000, 60_000, 1000, 1, 1, 1,
    ]);
  });

  it.each(["", "1", "m", "123456789m", "-1m", "1.5S", "1s", "1 m"])("does not take %j", (field) => {
    expect(parseGrpcTimeout(field)).toBeUndefined();
  });
});
