import { GrpcStatusError, StatusCode } from "../../grpc/index.ts";
import { type FrameReader, HelloField, PROTOCOL_VERSION, RequestField, versionConflict } from "../../wire/index.ts";

/** What a caller says about itself when it opens a session. */
export interface CallerHello {
  readonly callerId: string;
  /** The number of the task thread that the session is for. */
  readonly lane: number;
  /** Names the file system and the user that the caller shares files through; empty if it shares none. */
  readonly fileRealm: string;
  /** The caller wants messages with frames of one kind each. */
  readonly oneKind: boolean;
  /** The caller can connect to a lane. */
  readonly takesLane: boolean;
}

/**
 * Reads the first message of a session. An incompatible caller is told the versions before anything else is decoded.
 *
 * @throws GrpcStatusError when the message is not a hello, or this worker cannot serve its caller
 */
export function readHello(frame: FrameReader): CallerHello {
  if (next(frame) !== RequestField.hello) {
    const message = `the first message of a session must be a hello; this worker speaks protocol version ${PROTOCOL_VERSION}`;
    throw new GrpcStatusError(StatusCode.FAILED_PRECONDITION, message);
  }
  const conflict = versionConflict(frame.integer(HelloField.version), frame.integer(HelloField.minimum));
  if (conflict !== undefined) throw new GrpcStatusError(StatusCode.FAILED_PRECONDITION, conflict);
  const hello = {
    callerId: frame.text(HelloField.callerId),
    lane: frame.integer(HelloField.lane),
    fileRealm: frame.text(HelloField.fileRealm),
    oneKind: frame.integer(HelloField.oneKind) === 1,
    takesLane: frame.integer(HelloField.takesLane) === 1,
  };
  // Frames that came with it would be lost, and the caller would wait forever.
  if (next(frame) !== 0) {
    throw new GrpcStatusError(StatusCode.INVALID_ARGUMENT, "a hello must be alone in its message");
  }
  return hello;
}

/** The kind of the next frame; undefined when the message cannot be read. */
function next(frame: FrameReader): number | undefined {
  try {
    return frame.next();
  } catch {
    return undefined;
  }
}
