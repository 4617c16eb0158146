export { GrpcChannel, type GrpcChannelOptions, type GrpcHeaders } from "./channel.ts";
export { ChannelError, type ChannelErrorKind } from "./channel-error.ts";
export { GrpcStream, type GrpcStreamHandlers } from "./client-stream.ts";
export { type ClientTls } from "./connect-session.ts";
