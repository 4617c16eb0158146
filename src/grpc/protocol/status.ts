import { messageOf } from "../../checks/index.ts";
/** The status codes of gRPC. */
export const StatusCode = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16,
} as const;

/** One of the status codes of gRPC. */
export type StatusCode = (typeof StatusCode)[keyof typeof StatusCode];

/** How a call ended. */
export interface GrpcStatus {
  readonly code: StatusCode;
  readonly message: string;
}

/**
 * A gRPC status as an error. Thrown by a server's handler, it becomes the status of the call. A failed unary call
 * rejects with it.
 */
export class GrpcStatusError extends Error {
  override name = "GrpcStatusError";
  readonly code: StatusCode;

  constructor(code: StatusCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Code and message as a plain status. */
  get status(): GrpcStatus {
    return { code: this.code, message: this.message };
  }
}

/** The status for a thrown value: that of a `GrpcStatusError`, else INTERNAL with the message of the error. */
export function statusFromError(error: unknown): GrpcStatus {
  if (error instanceof GrpcStatusError) return error.status;
  return { code: StatusCode.INTERNAL, message: messageOf(error) };
}

const codes: ReadonlySet<number> = new Set(Object.values(StatusCode));

function isStatusCode(code: number): code is StatusCode {
  return codes.has(code);
}

/** The status in `grpc-status` and `grpc-message` header fields; a code that gRPC does not know is UNKNOWN. */
export function statusFromFields(code: unknown, message: unknown): GrpcStatus {
  const number = typeof code === "string" && /^\d{1,3}$/.test(code) ? Number(code) : Number.NaN;
  const text = typeof message === "string" ? decodeStatusMessage(message) : "";
  if (isStatusCode(number)) return { code: number, message: text };
  return {
    code: StatusCode.UNKNOWN,
    message: `the peer sent the unknown gRPC status ${String(code)}. ${text}`.trimEnd(),
  };
}

/** The gRPC status for an HTTP status other than 200. */
export function statusFromHttp(httpStatus: number): StatusCode {
  switch (httpStatus) {
    case 400:
      return StatusCode.INTERNAL;
    case 401:
      return StatusCode.UNAUTHENTICATED;
    case 403:
      return StatusCode.PERMISSION_DENIED;
    case 404:
      return StatusCode.UNIMPLEMENTED;
    case 429:
    case 502:
    case 503:
    case 504:
      return StatusCode.UNAVAILABLE;
    default:
      return StatusCode.UNKNOWN;
  }
}

/** The gRPC status for the HTTP/2 error code of a stream that was reset before its status arrived. */
export function statusFromReset(http2Code: number): StatusCode {
  switch (http2Code) {
    case 0x5: // STREAM_CLOSED
      return StatusCode.UNKNOWN;
    case 0x7: // REFUSED_STREAM
      return StatusCode.UNAVAILABLE;
    case 0x8: // CANCEL
      return StatusCode.CANCELLED;
    case 0xb: // ENHANCE_YOUR_CALM
      return StatusCode.RESOURCE_EXHAUSTED;
    case 0xc: // INADEQUATE_SECURITY
      return StatusCode.PERMISSION_DENIED;
    default:
      return StatusCode.INTERNAL;
  }
}

/** Percent-encodes a status message for the `grpc-message` field. */
export function encodeStatusMessage(message: string): string {
  if (/^[ -$&-~]*$/.test(message)) return message;
  let encoded = "";
  for (const byte of Buffer.from(message, "utf8")) {
    encoded +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

/** Undoes `encodeStatusMessage`. Invalid percent-encoding stays as it is. */
export function decodeStatusMessage(field: string): string {
  if (!field.includes("%")) return field;
  const source = Buffer.from(field, "utf8");
  const bytes = Buffer.alloc(source.length);
  let length = 0;
  for (let at = 0; at < source.length; at++) {
    const hex = source[at] === 0x25 ? source.toString("latin1", at + 1, at + 3) : "";
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes[length++] = Number.parseInt(hex, 16);
      at += 2;
    } else {
      bytes[length++] = source[at] ?? 0;
    }
  }
  return bytes.toString("utf8", 0, length);
}
