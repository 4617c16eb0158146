import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decodeStatusMessage,
  encodeStatusMessage,
  GrpcStatusError,
  StatusCode,
  statusFromError,
  statusFromFields,
  statusFromHttp,
  statusFromReset,
} from "./status.ts";

describe("status messages", () => {
  it("survive the way through a header field, which is printable ASCII", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (message) => {
        const field = encodeStatusMessage(message);
        expect(field).toMatch(/^[ -~]*$/);
        expect(decodeStatusMessage(field)).toBe(message);
      }),
    );
  });

  it("stay readable when they are plain", () => {
    expect(encodeStatusMessage("no such thing: a/b")).toBe("no such thing: a/b");
    expect(encodeStatusMessage("50 %\n")).toBe("50 %25%0A");
  });

  it.each(["100%", "%zz", "%4", "%%41"])("that are badly encoded (%j) are kept, not refused", (field) => {
    expect(decodeStatusMessage(field)).toBe(field.replace("%41", "A"));
  });
});

describe("statuses", () => {
  it("are read from header fields", () => {
    expect(statusFromFields("5", "no%20way")).toEqual({ code: StatusCode.NOT_FOUND, message: "no way" });
    expect(statusFromFields("0", undefined)).toEqual({ code: StatusCode.OK, message: "" });
  });

  it.each(["17", "-1", "x", "", undefined])("of the unknown code %j are UNKNOWN", (code) => {
    expect(statusFromFields(code, "m").code).toBe(StatusCode.UNKNOWN);
  });

  it("stand for HTTP statuses", () => {
    const codes = [400, 401, 403, 404, 429, 502, 503, 504, 500, 418].map(statusFromHttp);
    expect(codes).toEqual([13, 16, 7, 12, 14, 14, 14, 14, 2, 2]);
  });

  it("stand for resets", () => {
    const codes = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(statusFromReset);
    expect(codes).toEqual([13, 13, 13, 13, 13, 2, 13, 14, 1, 13, 13, 8, 7, 13]);
  });

  it("stand for thrown values", () => {
    expect(statusFromError(new GrpcStatusError(StatusCode.ABORTED, "a"))).toEqual({ code: 10, message: "a" });
    expect(statusFromError(new TypeError("b"))).toEqual({ code: 13, message: "b" });
    expect(statusFromError("c")).toEqual({ code: 13, message: "c" });
  });
});
