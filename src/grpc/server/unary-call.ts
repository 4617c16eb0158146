import type { X509Certificate } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http2";
import { Timer } from "../../time/index.ts";
import { frameMessage, GrpcStatusError, parseGrpcTimeout, StatusCode, statusFromError } from "../protocol/index.ts";
import type { ServerStream } from "./server-stream.ts";

/** The call that a unary handler answers. */
export interface UnaryContext {
  /** The method, such as `/wool.v1.Worker/Stop`. */
  readonly path: string;
  /** The request's header fields. */
  readonly headers: IncomingHttpHeaders;
  /** The address of the client: `host:port`, or `unix:` for a unix socket. */
  readonly peer: string;
  /** The certificate that the client showed in mutual TLS. */
  readonly peerCertificate: X509Certificate | undefined;
  /** Aborted when the client went away or the call's `grpc-timeout` ran out: nobody reads the answer then. */
  readonly signal: AbortSignal;
}

/** Answers one request. A thrown `GrpcStatusError` is the call's status; anything else is INTERNAL with its message. */
export type UnaryHandler = (request: Uint8Array, context: UnaryContext) => Uint8Array | Promise<Uint8Array>;

/** Serves one unary call on a stream. `maxRequestBytes`: the largest request; default: the limit of the server. */
export function serveUnary(stream: ServerStream, handler: UnaryHandler, maxRequestBytes?: number): void {
  if (maxRequestBytes !== undefined) stream.limitMessages(maxRequestBytes);
  const controller = new AbortController();
  let timer: Timer | undefined;
  let request: Uint8Array | undefined;
  const end = (code: StatusCode, message: string): void => {
    timer?.clear();
    stream.end({ code, message });
  };

  const timeoutField = stream.headers["grpc-timeout"];
  if (typeof timeoutField === "string") {
    const timeout = parseGrpcTimeout(timeoutField);
    if (timeout === undefined) {
      end(
        StatusCode.INTERNAL,
        `the grpc-timeout "${timeoutField}" is malformed: expected up to 8 digits and one of H M S m u n`,
      );
      return;
    }
    timer = new Timer(timeout, () => {
      end(StatusCode.DEADLINE_EXCEEDED, `${stream.path} did not finish within its timeout of ${timeout} ms`);
      controller.abort(new GrpcStatusError(StatusCode.DEADLINE_EXCEEDED, `the timeout of ${timeout} ms ran out`));
    }).unref();
  }

  const answer = async (bytes: Uint8Array): Promise<void> => {
    const { path, headers, peer, peerCertificate } = stream;
    try {
      const response = await handler(bytes, { path, headers, peer, peerCertificate, signal: controller.signal });
      if (controller.signal.aborted) return;
      stream.send(frameMessage(response));
      end(StatusCode.OK, "");
    } catch (error) {
      const status = statusFromError(error);
      end(status.code, status.message);
    }
  };

  stream.handle({
    message(buffer, start, end) {
      if (request !== undefined) {
        throw new GrpcStatusError(StatusCode.UNIMPLEMENTED, `${stream.path} takes one request, but got a second one`);
      }
      request = buffer.subarray(start, end);
    },
    halfClosed() {
      if (request === undefined) end(StatusCode.UNIMPLEMENTED, `${stream.path} takes one request, but got none`);
      else void answer(request);
    },
    cancelled() {
      timer?.clear();
      controller.abort(new GrpcStatusError(StatusCode.CANCELLED, "the client cancelled the call or went away"));
    },
  });
}
