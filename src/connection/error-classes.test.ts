import { describe, expect, it } from "vitest";
import { HandshakeError, PermissionDenied, RpcError, TransientRpcError, VersionMismatch } from "../errors.ts";
import { ChannelError, StatusCode } from "../grpc/index.ts";
import { errorForConnect, errorForStatus } from "./error-classes.ts";

const classOf = (error: Error) => error.constructor;

describe("errorForStatus", () => {
  it("knows what may be tried again, and what never will", () => {
    const transient: number[] = [StatusCode.UNAVAILABLE, StatusCode.DEADLINE_EXCEEDED, StatusCode.RESOURCE_EXHAUSTED];
    for (const code of Object.values(StatusCode)) {
      const error = errorForStatus({ code, message: "why" }, "host:1");
      const expected =
        code === StatusCode.FAILED_PRECONDITION
          ? VersionMismatch
          : code === StatusCode.UNAUTHENTICATED
            ? HandshakeError
            : code === StatusCode.PERMISSION_DENIED
              ? PermissionDenied
              : transient.includes(code)
                ? TransientRpcError
                : RpcError;
      expect(classOf(error)).toBe(expected);
      expect(error).toMatchObject({ status: code, message: "worker host:1: why" });
    }
  });
});

describe("errorForConnect", () => {
  it("a failed handshake is told from one that could not be reached", () => {
    const handshake = new ChannelError(StatusCode.UNAVAILABLE, "handshake", false, "wrong authority");
    const error = errorForConnect(handshake, "host:1");
    expect(classOf(error)).toBe(HandshakeError);
    expect(error).toMatchObject({ message: "worker host:1 cannot be reached: wrong authority", cause: handshake });
    for (const kind of ["refused", "timeout", "closed"] as const) {
      expect(classOf(errorForConnect(new ChannelError(StatusCode.UNAVAILABLE, kind, false, "x"), "host:1"))).toBe(
        TransientRpcError,
      );
    }
  });

  it("passes on what has a class already, and takes anything else that is thrown", () => {
    const mismatch = new VersionMismatch("x", StatusCode.FAILED_PRECONDITION);
    expect(errorForConnect(mismatch, "host:1")).toBe(mismatch);
    expect(errorForConnect("text", "host:1")).toMatchObject({
      message: "worker host:1 cannot be reached: text",
      status: StatusCode.UNAVAILABLE,
      cause: "text",
    });
  });
});
