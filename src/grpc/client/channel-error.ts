import { GrpcStatusError, type StatusCode } from "../protocol/index.ts";

/**
 * Why a channel cannot be used:
 * - `refused`: nobody accepted the connection (no listener, no such socket or host, dropped before it spoke HTTP/2);
 * - `handshake`: the two sides did not agree (TLS: wrong authority, wrong identity, expired; or the peer does not speak HTTP/2);
 * - `timeout`: the peer did not answer in time;
 * - `closed`: the channel was closed by this side, or the connection was lost.
 */
export type ChannelErrorKind = "refused" | "handshake" | "timeout" | "closed";

/** A channel could not connect or is gone. */
export class ChannelError extends GrpcStatusError {
  override name = "ChannelError";
  readonly kind: ChannelErrorKind;
  /** False when the connection was never made, so that nothing can have reached the peer. */
  readonly connected: boolean;

  constructor(code: StatusCode, kind: ChannelErrorKind, connected: boolean, message: string, cause?: unknown) {
    super(code, message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.connected = connected;
  }
}
