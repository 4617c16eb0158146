import { once } from "node:events";
import { createServer } from "node:net";

/** A TCP port of this machine that nobody listens on. */
export async function freePort(host = "127.0.0.1"): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("it has no port");
  return address.port;
}
