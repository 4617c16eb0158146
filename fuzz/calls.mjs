/** gRPC calls of a worker at a unix socket, without any of what a real caller sees to. */
import { connect } from "node:http2";
import { createConnection } from "node:net";

const DISPATCH = "/wool.v1.Worker/Dispatch";

/** A connection. Its errors are of no interest. */
export function connectTo(path) {
  const session = connect("http://localhost", { createConnection: () => createConnection(path) });
  session.on("error", () => undefined);
  return session;
}

/** A stream of a method: a session of the worker by default. */
export function call(session, method = DISPATCH) {
  const stream = session.request({
    ":method": "POST",
    ":path": method,
    "content-type": "application/grpc",
    te: "trailers",
  });
  stream.on("error", () => undefined);
  return stream;
}
