import { type ClientHttp2Session, type ClientHttp2Stream, connect } from "node:http2";
import { connect as connectNet, type Socket } from "node:net";
import { create, createFileRegistry, type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { afterEach, describe, expect, it } from "vitest";
import { ServerReflectionRequestSchema } from "../../gen/grpc/reflection/v1/reflection_pb.ts";
import { addReflection, frameMessage, GrpcChannel, GrpcServer, type GrpcServerOptions, StatusCode } from "../index.ts";

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

function closed(emitter: Socket | ClientHttp2Session | ClientHttp2Stream): Promise<void> {
  return new Promise((resolve) => emitter.once("close", () => resolve()));
}

/** Resolves when the server has responded to a ping. */
function roundTrip(session: ClientHttp2Session): Promise<void> {
  return new Promise((resolve) => session.ping(() => resolve()));
}

/** The end of a call whose client does nothing after `begin`. */
async function endOf(session: ClientHttp2Session, path: string, begin: (stream: ClientHttp2Stream) => void) {
  const stream = session.request({ ...CALL, ":path": path });
  stream.on("error", () => {});
  stream.resume();
  const ended = new Promise<string>((resolve) => {
    const note = (fields: Record<string, unknown>): void => {
      if (fields["grpc-status"] === undefined) return;
      resolve(`${String(fields["grpc-status"])} ${decodeURIComponent(String(fields["grpc-message"]))}`);
    };
    stream.on("response", note);
    stream.on("trailers", note);
  });
  begin(stream);
  return await ended;
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
    // Meanwhile another connection opens and is closed because it is idle.
    await closed(sessionTo(port));
    expect([session.destroyed, running.destroyed]).toEqual([false, false]);
    running.destroy();
    await closed(session);
  });

  it("on which HTTP/2 has been given up are closed, though Node.js leaves them open", async () => {
    const socket = rawTo(await serve({ idleTimeout: 100 }));
    socket.resume();
    socket.write(PREFACE);
    // A SETTINGS frame with an invalid payload.
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
    // RESOURCE_EXHAUSTED, or ENHANCE_YOUR_CALM, its equivalent.
    expect(["8", 11]).toContain(await statusOf(session, headers));
    expect(["8", 11]).toContain(await statusOf(session, headers));
    expect(await statusOf(session, {})).toBe("0");
  });
});

describe("a client that wants much at once", () => {
  it("cannot have more calls of a method open than it may", async () => {
    const server = new GrpcServer();
    server.addStream(STREAM, (stream) => stream.handle({ message: () => undefined }), 2);
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const session = sessionTo(port);
    const open = Array.from({ length: 2 }, () => session.request({ ...CALL, ":path": STREAM }));
    expect(await endOf(session, STREAM, () => undefined)).toBe(
      `${StatusCode.RESOURCE_EXHAUSTED} this connection has 2 calls of ${STREAM} open, and may not have more`,
    );
    open[0]?.close();
    const again = endOf(session, STREAM, (stream) => stream.end());
    const other = sessionTo(port).request({ ...CALL, ":path": STREAM });
    other.end();
    // Neither is refused: only a refusal would end the stream.
    const refused = await Promise.race([again, new Promise((resolve) => session.ping(() => resolve("not refused")))]);
    expect(refused).toBe("not refused");
  });

  it("cannot send a large request where none is taken", async () => {
    const server = new GrpcServer();
    server.addUnary(ECHO, (request) => request, 1000);
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const header = Buffer.alloc(5);
    header.writeUInt32BE(60_000_000, 1);
    expect(await endOf(sessionTo(port), ECHO, (stream) => stream.write(header))).toContain(
      "larger than the limit of 1000 bytes",
    );
  });

  it("is asked no further about services while it does not read the answers", async () => {
    const server = new GrpcServer();
    const zoo = describeZoo();
    addReflection(server, () => Promise.resolve(zoo));
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const session = sessionTo(port);
    const stream = session.request({
      ...CALL,
      ":path": "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    });
    stream.on("error", () => {});
    const question = toBinary(
      ServerReflectionRequestSchema,
      create(ServerReflectionRequestSchema, { messageRequest: { case: "fileByFilename", value: "zoo.proto" } }),
    );
    const prefix = Buffer.from([0, 0, 0, 0, question.length]);
    const bytes = Buffer.concat(Array.from({ length: 1000 }, () => [prefix, question]).flat());
    const responded = new Promise((resolve) => stream.once("response", resolve));
    let [asked, isHeldUp] = [0, false];
    while (asked < 1_000_000 && !isHeldUp) {
      asked += 1000;
      if (stream.write(bytes)) continue;
      // The server has begun to answer and responds again and again, but takes no more questions.
      await responded;
      for (let trip = 0; trip < 100 && stream.writableNeedDrain; trip++) await roundTrip(session);
      isHeldUp = stream.writableNeedDrain;
    }
    // No more than the flow-control windows and buffers of both sides hold.
    expect(asked).toBeLessThan(200_000);
    let answers = 0;
    stream.on("data", (chunk: Buffer) => (answers += chunk.length));
    stream.end();
    await closed(stream);
    expect(answers).toBeGreaterThan(asked * 100);
  });
});

/** A file with a long description. */
function describeZoo(): DescFile[] {
  const set = create(FileDescriptorSetSchema, {
    file: [{ name: "zoo.proto", syntax: "proto3", messageType: [{ name: "Animal".repeat(50) }] }],
  });
  const file = createFileRegistry(set).getFile("zoo.proto");
  return file === undefined ? [] : [file];
}
