import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { credentials, makeGenericClientConstructor } from "@grpc/grpc-js";
import { pack, service, UNLIMITED, unpack } from "./grpc-service.mjs";

const SERVER = fileURLToPath(new URL("./grpc-server.mjs", import.meta.url));
const Client = makeGenericClientConstructor(service, "benchmark");

/** grpc-js without a runtime on top: unary calls, round robin over server processes. */
export async function open({ size = 2 } = {}) {
  const directory = await mkdtemp(join(tmpdir(), "bench-grpc-"));
  const addresses = Array.from({ length: size }, (_, i) => `unix:${join(directory, `${i}.sock`)}`);
  const servers = addresses.map((address) => fork(SERVER, [address]));
  await Promise.all(servers.map((server) => once(server, "message")));
  const clients = addresses.map((address) => new Client(address, credentials.createInsecure(), UNLIMITED));

  let turn = 0;
  const nextClient = () => clients[turn++ % size];
  const call = (name, request, read) =>
    new Promise((resolve, reject) => {
      nextClient()[name](request, (error, response) => (error ? reject(error) : resolve(read(response))));
    });
  const sameBytes = (bytes) => bytes;

  return {
    add: (x, y) => call("add", pack([x, y]), unpack),
    burn: (steps, seed) => call("burn", pack([steps, seed]), unpack),
    echo(value) {
      if (!(value instanceof Uint8Array)) return call("echo", pack(value), unpack);
      return call("echoBytes", Buffer.from(value.buffer, value.byteOffset, value.byteLength), sameBytes);
    },
    async *items() {
      const stream = nextClient().items(Buffer.alloc(0));
      stream.on("error", () => undefined);
      try {
        for await (const item of stream) yield unpack(item);
      } finally {
        stream.cancel();
      }
    },
    async close() {
      for (const client of clients) client.close();
      await Promise.all(
        servers.map((server) => {
          const exited = once(server, "exit");
          server.disconnect();
          return exited;
        }),
      );
      await rm(directory, { recursive: true, force: true });
    },
  };
}
