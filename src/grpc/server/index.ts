export { type ServerTls } from "./secure-door.ts";
export { GrpcServer, type GrpcServerOptions, type ListenAddress } from "./server.ts";
export { ServerStream, type ServerStreamHandlers } from "./server-stream.ts";
export { type UnaryContext, type UnaryHandler } from "./unary-call.ts";
