import { messageOf } from "../checks/index.ts";
import { HandshakeError, PermissionDenied, RpcError, TransientRpcError, VersionMismatch } from "../errors.ts";
import { ChannelError, type GrpcStatus, StatusCode } from "../grpc/index.ts";

const TRANSIENT: ReadonlySet<number> = new Set([
  StatusCode.UNAVAILABLE,
  StatusCode.DEADLINE_EXCEEDED,
  StatusCode.RESOURCE_EXHAUSTED,
]);

/** The error for a status from a worker, or for a status that says why the worker could not be reached. */
export function errorForStatus(status: GrpcStatus, address: string): RpcError {
  const message = `worker ${address}: ${status.message}`;
  if (status.code === StatusCode.FAILED_PRECONDITION) return new VersionMismatch(message, status.code);
  if (status.code === StatusCode.UNAUTHENTICATED) return new HandshakeError(message, status.code);
  if (status.code === StatusCode.PERMISSION_DENIED) return new PermissionDenied(message, status.code);
  if (TRANSIENT.has(status.code)) return new TransientRpcError(message, status.code);
  return new RpcError(message, status.code);
}

/** The error for a connection that could not be made. */
export function errorForConnect(error: unknown, address: string): RpcError {
  if (error instanceof RpcError) return error;
  const reason = messageOf(error);
  const message = `worker ${address} cannot be reached: ${reason}`;
  if (error instanceof ChannelError && error.kind === "handshake") {
    return new HandshakeError(message, StatusCode.UNAVAILABLE, { cause: error });
  }
  return new TransientRpcError(message, StatusCode.UNAVAILABLE, { cause: error });
}

/** The error for a connection that was not tried, because the provider of credentials failed. */
export function errorForCredentials(error: unknown, address: string): HandshakeError {
  const reason = messageOf(error);
  const message = `cannot connect to worker ${address}: the provider of the credentials failed: ${reason}`;
  return new HandshakeError(message, StatusCode.UNAUTHENTICATED, { cause: error });
}
