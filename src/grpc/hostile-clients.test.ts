import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectNet, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { frameMessage, GrpcChannel, GrpcServer, type GrpcServerOptions, StatusCode } from "./index.ts";

const ECHO = "/test.Hostile/Echo";
const STREAM = "/test.Hostile/Stream";
const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1");
const CALL = { ":method": "POST", ":path": ECHO, "content-type": "application/grpc", te: "trailers" };
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(options: GrpcServerOptions = {}): Promise<number> {
  const server = new GrpcServer(options);
  server.addUnary(ECHO, (request) => request);
  server.addStream(STREAM, (stream) =>
    stream.handle({
      message: () => {
        for (let i = 0; i < 100; i++) stream.send(frameMessage(Buffer.alloc(100_000)));
        stream.expel({ code: StatusCode.RESOURCE_EXHAUSTED, message: "too much" });
      },
    }),
  );
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  return port;
}

function sessionTo(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  closers.push(() => session.destroy());
  return session;
}

function rawTo(port: number): Socket {
  const socket = connectNet(port, "127.0.0.1");
  socket.on("error", () => {});
  closers.push(() => socket.destroy());
  return socket;
}

function closed(emitter: Socket | ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => emitter.once("close", () => resolve()));
}

async function statusOf(session: ClientHttp2Session, headers: Record<string, string>, body = true): Promise<unknown> {
  const stream = session.request({ ...CALL, ...headers });
  let status: unknown;
  stream.on("response", (fields) => (status = fields["grpc-status"] ?? status));
  stream.on("trailers", (fields) => (status = fields["grpc-status"]));
  stream.on("error", () => {});
  stream.resume();
  if (body) stream.end(Buffer.from("\0\0\0\0\x02hi", "latin1"));
  await new Promise((resolve) => stream.once("close", resolve));
  return status ?? stream.rstCode;
}

describe("connections", () => {
  it("without a call are closed after a while", async () => {
    const session = sessionTo(await serve({ idleTimeout: 50 }));
    await closed(session);
  });

  it("with a call stay, however long it takes", async () => {
    const port = await serve({ idleTimeout: 20, requestTimeout: Number.POSITIVE_INFINITY });
    const session = sessionTo(port);
    const running = session.request(CALL);
    running.on("error", () => {});
    await new Promise((resolve) => running.once("ready", resolve));
    // Another connection comes and goes by idleness meanwhile.
    await closed(sessionTo(port));
    expect([session.destroyed, running.destroyed]).toEqual([false, false]);
    running.destroy();
    await closed(session);
  });

  it("on which HTTP/2 has been given up are closed, though Node.js leaves them open", async () => {
    const socket = rawTo(await serve({ idleTimeout: 100 }));
    socket.resume();
    socket.write(PREFACE);
    // A SETTINGS frame with a payload that no such frame can have.
    socket.write(Buffer.from("\0\0\x05\x04\0\0\0\0\0abcde", "latin1"));
    await closed(socket);
  });

  it("beyond the limit are dropped, and those that stand go on", async () => {
    const port = await serve({ maxConnections: 1 });
    const first = sessionTo(port);
    expect(await statusOf(first, {})).toBe("0");
    await closed(rawTo(port));
    expect(await statusOf(first, {})).toBe("0");
  });

  it("whose peer stops answering are given up", async () => {
    const socket = rawTo(await serve({ keepaliveInterval: 20, keepaliveTimeout: 40 }));
    socket.resume();
    socket.write(PREFACE);
    await closed(socket);
  });

  it("of a client that takes too much end, with the reason and without what it did not read", async () => {
    const port = await serve();
    const channel = new GrpcChannel(`127.0.0.1:${port}`);
    closers.push(() => channel.close());
    await channel.connect();
    const ended = new Promise((resolve) => {
      const stream = channel.openStream(STREAM, { message: () => stream.pause(), status: resolve });
      stream.send(frameMessage(Buffer.alloc(1)));
    });
    expect(await ended).toMatchObject({ code: StatusCode.UNAVAILABLE });
    expect(channel.state).toBe("closed");
  });
});

describe("calls", () => {
  it("that send no request in time end alone", async () => {
    const session = sessionTo(await serve({ requestTimeout: 50 }));
    expect(await statusOf(session, {}, false)).toBe(String(StatusCode.DEADLINE_EXCEEDED));
    expect(await statusOf(session, {})).toBe("0");
  });

  it.each([
    ["many fields", Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`x-${i}`, "v"]))],
    ["one huge field", { "x-huge": "v".repeat(60_000) }],
    ["many large fields", Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`x-${i}`, "v".repeat(1_000)]))],
  ])("with %s beyond the limit of metadata end alone", async (_name, headers) => {
    const session = sessionTo(await serve());
    // RESOURCE_EXHAUSTED, or ENHANCE_YOUR_CALM, which stands for it.
    expect(["8", 11]).toContain(await statusOf(session, headers));
    expect(["8", 11]).toContain(await statusOf(session, headers));
    expect(await statusOf(session, {})).toBe("0");
  });
});
