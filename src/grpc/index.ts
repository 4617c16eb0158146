export {
  ChannelError,
  type ChannelErrorKind,
  type ClientTls,
  GrpcChannel,
  type GrpcChannelOptions,
  type GrpcHeaders,
  type GrpcStream,
  type GrpcStreamHandlers,
} from "./client/index.ts";
export { type LaneHandlers, LaneSocket, pinned } from "./lane-socket.ts";
export { LoopTimeout } from "./loop-timeout.ts";
export {
  DEFAULT_MAX_MESSAGE_BYTES,
  frameMessage,
  type GrpcStatus,
  GrpcStatusError,
  type MessageHandlers,
  PREFIX_BYTES,
  SMALL_REQUEST_BYTES,
  StatusCode,
} from "./protocol/index.ts";
export {
  GrpcServer,
  type GrpcServerOptions,
  type ListenAddress,
  type ServerStream,
  type ServerStreamHandlers,
  type ServerTls,
  type UnaryContext,
  type UnaryHandler,
} from "./server/index.ts";
export { addReflection, Health, type ServingStatus } from "./services/index.ts";
