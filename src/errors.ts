/**
 * All errors of the runtime. An error that a routine throws is not one of them: it arrives as it is.
 */

const BRAND = Symbol.for("wool-ts.error");

/** Base of all errors of the runtime. */
export class WoolError extends Error {
  /** Stable, for programs: `WOOL_NO_WORKERS_AVAILABLE` and so on. */
  readonly code: string = "WOOL_ERROR";
  override name = "WoolError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, BRAND, { value: true });
  }

  /** True for a `WoolError` of any copy of the package in this process. */
  static isWoolError(value: unknown): value is WoolError {
    return typeof value === "object" && value !== null && BRAND in value;
  }
}

/** An argument of the runtime's API is of the wrong kind or out of range. */
export class InvalidArgument extends WoolError {
  override readonly code: string = "WOOL_INVALID_ARGUMENT";
  override name = "InvalidArgument";
}

/** No worker took the task: none is known, or all of them refused it. */
export class NoWorkersAvailable extends WoolError {
  override readonly code: string = "WOOL_NO_WORKERS_AVAILABLE";
  override name = "NoWorkersAvailable";
  /** The answer of each worker that was tried. */
  readonly errors: readonly Error[];

  constructor(message: string, errors: readonly Error[] = []) {
    super(message);
    this.errors = errors;
  }
}

/** More calls wait for capacity than `maxPending` allows. */
export class PoolSaturated extends WoolError {
  override readonly code: string = "WOOL_POOL_SATURATED";
  override name = "PoolSaturated";
}

/** The pool, proxy or connection was stopped. */
export class PoolClosed extends WoolError {
  override readonly code: string = "WOOL_POOL_CLOSED";
  override name = "PoolClosed";
}

/** A registry of workers, such as etcd or Redis, cannot be used. */
export class DiscoveryError extends WoolError {
  override readonly code: string = "WOOL_DISCOVERY";
  override name = "DiscoveryError";
}

/** A worker could not be started. The message holds the end of its stderr. */
export class WorkerStartError extends WoolError {
  override readonly code: string = "WOOL_WORKER_START";
  override name = "WorkerStartError";
}

/** A worker answered with a gRPC status other than OK. */
export class RpcError extends WoolError {
  override readonly code: string = "WOOL_RPC";
  override name = "RpcError";
  /** The gRPC status code. */
  readonly status: number;

  constructor(message: string, status: number, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** A worker could not take a task now. It may accept it later, and another worker may accept it now. */
export class TransientRpcError extends RpcError {
  override readonly code: string = "WOOL_RPC_TRANSIENT";
  override name = "TransientRpcError";
}

/** The two sides did not agree on TLS: wrong authority, wrong identity, expired certificate. */
export class HandshakeError extends TransientRpcError {
  override readonly code: string = "WOOL_HANDSHAKE";
  override name = "HandshakeError";
}

/** A worker's `authorize` hook does not let this caller run the task there. */
export class PermissionDenied extends RpcError {
  override readonly code: string = "WOOL_PERMISSION_DENIED";
  override name = "PermissionDenied";
}

/** The worker was lost after it got the task. The task may or may not have run. */
export class WorkerLost extends WoolError {
  override readonly code: string = "WOOL_WORKER_LOST";
  override name = "WorkerLost";
}

/** The task did not finish within its `timeout`, or found no worker within its `dispatchTimeout`. */
export class TaskTimeout extends WoolError {
  override readonly code: string = "WOOL_TASK_TIMEOUT";
  override name = "TaskTimeout";
}

/** The task was cancelled. */
export class TaskCancelled extends WoolError {
  override readonly code: string = "WOOL_TASK_CANCELLED";
  override name = "TaskCancelled";
}

/** A value that cannot travel. */
export class SerializationError extends WoolError {
  override readonly code: string = "WOOL_SERIALIZATION";
  override name = "SerializationError";
  /** Where the value is, such as `args[0].socket`. */
  readonly path: string;

  constructor(message: string, path: string, options?: ErrorOptions) {
    super(message, options);
    this.path = path;
  }
}

/** The worker cannot load a module that the code needs. */
export class CodeUnavailable extends WoolError {
  override readonly code: string = "WOOL_CODE_UNAVAILABLE";
  override name = "CodeUnavailable";
}

/** Caller and worker speak different versions of the protocol. */
export class VersionMismatch extends RpcError {
  override readonly code: string = "WOOL_VERSION_MISMATCH";
  override name = "VersionMismatch";
}

/** The peer sent something that the protocol does not allow. */
export class UnexpectedResponse extends WoolError {
  override readonly code: string = "WOOL_UNEXPECTED_RESPONSE";
  override name = "UnexpectedResponse";
}
