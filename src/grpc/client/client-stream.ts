import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import {
  type Compression,
  type GrpcStatus,
  isGrpcContentType,
  MessageCompressor,
  type MessageHandlers,
  MessageStream,
  StatusCode,
  statusFromFields,
  statusFromHttp,
  statusFromReset,
} from "../protocol/index.ts";

/** The error code NO_ERROR of HTTP/2. */
const NO_ERROR = 0;

/** Handlers of the client's end of a stream. */
export interface GrpcStreamHandlers extends MessageHandlers {
  /** The end, exactly once and after the last message. */
  status(status: GrpcStatus): void;
}

/** The channel as its streams see it. */
export interface StreamOwner {
  /** The status for a stream whose connection is lost; undefined while it is connected. */
  lossStatus(): GrpcStatus | undefined;
  /** The stream is over. */
  streamEnded(stream: GrpcStream): void;
}

/** The client's end of a bidirectional stream. */
export class GrpcStream extends MessageStream {
  readonly #handlers: GrpcStreamHandlers;
  readonly #owner: StreamOwner;
  readonly #reset: AbortController;
  #received: GrpcStatus | undefined;

  /** Made by `GrpcChannel.openStream`; `reset` is the controller of the request's signal. */
  constructor(
    http2Stream: ClientHttp2Stream,
    reset: AbortController,
    handlers: GrpcStreamHandlers,
    maxMessageBytes: number,
    compression: Compression | undefined,
    owner: StreamOwner,
  ) {
    super(http2Stream, maxMessageBytes);
    this.deframer.accepts = compression;
    if (compression !== undefined) this.compressor = new MessageCompressor();
    this.#handlers = handlers;
    this.#owner = owner;
    this.#reset = reset;
    http2Stream.on("response", (headers) => this.#responded(headers));
    http2Stream.on("trailers", (headers) => {
      this.#received ??= statusFromFields(headers["grpc-status"], headers["grpc-message"]);
    });
    http2Stream.on("end", () => this.#finish(this.#ended()));
    http2Stream.on("close", () => this.#finish(this.#received ?? this.#resetStatus()));
    this.startReading(handlers);
  }

  /** Tells the server that no more messages follow; its messages still arrive. */
  halfClose(): void {
    if (this.state !== "open") return;
    this.state = "ending";
    this.bytes.end();
  }

  /** Cancels the stream: no more messages, and the status CANCELLED on the next tick. */
  cancel(): void {
    this.abandon({ code: StatusCode.CANCELLED, message: "the call was cancelled by the caller" });
  }

  /** Cancels the stream like `cancel`, with the given status. */
  abandon(status: GrpcStatus): void {
    if (this.state === "closed") return;
    this.#shut();
    process.nextTick(() => this.#handlers.status(status));
  }

  protected override fail(status: GrpcStatus): void {
    this.abandon(status);
  }

  /** Ends the stream at once because its connection is lost; for the channel. */
  lose(status: GrpcStatus): void {
    this.#finish(this.#received ?? status);
  }

  #responded(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const httpStatus = headers[":status"] ?? 0;
    if (headers["grpc-status"] !== undefined) {
      this.#received = statusFromFields(headers["grpc-status"], headers["grpc-message"]);
    } else if (httpStatus !== 200) {
      this.fail({ code: statusFromHttp(httpStatus), message: `the server answered with HTTP status ${httpStatus}` });
    } else if (!isGrpcContentType(headers["content-type"])) {
      const found = headers["content-type"] ?? "none";
      this.fail({ code: StatusCode.UNKNOWN, message: `the server's content type is ${found}, not application/grpc` });
    } else {
      const encoding = headers["grpc-encoding"];
      this.deframer.encoding = typeof encoding === "string" ? encoding : undefined;
    }
  }

  #ended(): GrpcStatus {
    const received = this.#received ?? this.#resetStatus();
    return received.code === StatusCode.OK ? (this.truncation ?? received) : received;
  }

  #resetStatus(): GrpcStatus {
    // Node closes the streams of a lost connection with CANCEL, as if the server had said so.
    const loss = this.#owner.lossStatus();
    if (loss !== undefined) return loss;
    const code = this.bytes.rstCode ?? NO_ERROR;
    return {
      code: statusFromReset(code),
      message:
        code === NO_ERROR
          ? "the server ended the stream without a status"
          : `the server reset the stream with HTTP/2 error code ${code}`,
    };
  }

  #finish(status: GrpcStatus): void {
    if (this.state === "closed") return;
    this.#shut();
    this.#handlers.status(status);
  }

  #shut(): void {
    this.state = "closed";
    this.deframer.stop();
    // Unlike close(), an abort resets the stream without ending this side first, which the server would take for a half-close.
    if (!this.bytes.writableEnded || !this.bytes.readableEnded) this.#reset.abort();
    this.#owner.streamEnded(this);
  }
}
