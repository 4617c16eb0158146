export { acceptedEncodings, type Compression, isAccepted, MessageCompressor } from "./compression.ts";
export { DEFAULT_MAX_MESSAGE_BYTES } from "./deframer.ts";
export { DEFAULT_WINDOW_BYTES, SMALL_REQUEST_BYTES } from "./flow-control.ts";
export { frameMessage, PREFIX_BYTES } from "./frame-message.ts";
export { formatGrpcTimeout, parseGrpcTimeout } from "./grpc-timeout.ts";
export { isGrpcContentType, type MessageHandlers, MessageStream } from "./message-stream.ts";
export {
  encodeStatusMessage,
  type GrpcStatus,
  GrpcStatusError,
  StatusCode,
  statusFromError,
  statusFromFields,
  statusFromHttp,
  statusFromReset,
} from "./status.ts";
