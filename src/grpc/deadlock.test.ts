import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { GrpcChannel, GrpcServer, type GrpcStatus, StatusCode } from "./index.ts";

const TOTAL_BYTES = 64 * 1024 * 1024;
const MESSAGE_BYTES = 64 * 1024;
const FLOOD = "/test.Bulk/Flood";

interface Sender {
  send(framed: Uint8Array): boolean;
}

/** Sends `TOTAL_BYTES` as fast as the stream takes them; call it again on drain. */
function createFlood(done: () => void): (stream: Sender) => void {
  let left = TOTAL_BYTES;
  return (stream) => {
    while (left > 0) {
      left -= MESSAGE_BYTES;
      const writable = stream.send(Buffer.allocUnsafe(5 + MESSAGE_BYTES));
      if (left === 0) done();
      if (!writable) return;
    }
  };
}

describe("both sides sending 64 MB at once", () => {
  const closers: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  it.each(["unix", "tcp"])("completes over %s with the default windows", async (kind) => {
    const directory = await mkdtemp(join(tmpdir(), "grpc-"));
    closers.push(() => rm(directory, { recursive: true }));
    const server = new GrpcServer();
    let serverReceived = 0;
    server.addStream(FLOOD, (stream) => {
      let sent = false;
      let halfClosed = false;
      const finish = (): void => {
        if (sent && halfClosed) stream.end();
      };
      const flood = createFlood(() => {
        sent = true;
        finish();
      });
      stream.handle({
        message(_buffer, start, end) {
          serverReceived += end - start;
        },
        drain: () => flood(stream),
        halfClosed() {
          halfClosed = true;
          finish();
        },
      });
      flood(stream);
    });
    const path = join(directory, "s");
    const { port } =
      kind === "unix"
        ? { port: 0, ...(await server.listen({ path })) }
        : await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const channel = new GrpcChannel(kind === "unix" ? `unix:${path}` : `127.0.0.1:${port}`);
    closers.push(() => channel.close());
    await channel.connect();

    let clientReceived = 0;
    const status = await new Promise<GrpcStatus>((resolve) => {
      const flood = createFlood(() => stream.halfClose());
      const stream = channel.openStream(FLOOD, {
        message(_buffer, start, end) {
          clientReceived += end - start;
        },
        drain: () => flood(stream),
        status: resolve,
      });
      flood(stream);
    });

    expect(status).toEqual({ code: StatusCode.OK, message: "" });
    expect({ serverReceived, clientReceived }).toEqual({ serverReceived: TOTAL_BYTES, clientReceived: TOTAL_BYTES });
  });
});
