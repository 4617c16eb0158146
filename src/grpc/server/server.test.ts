import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, type OutgoingHttpHeaders } from "node:http2";
import { connect as connectNet, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  frameMessage,
  GrpcChannel,
  GrpcServer,
  type GrpcServerOptions,
  type GrpcStatus,
  type ServerStream,
  StatusCode,
} from "../index.ts";

const ECHO = "/test.Server/Echo";
const STREAM = "/test.Server/Stream";
const GRPC = { ":method": "POST", ":path": ECHO, "content-type": "application/grpc", te: "trailers" };
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(options: GrpcServerOptions = {}): Promise<{ server: GrpcServer; port: number }> {
  const server = new GrpcServer(options);
  server.addUnary(ECHO, (request) => request);
  server.addStream(STREAM, (stream) =>
    stream.handle({ message: () => void stream.send(frameMessage(Buffer.from("up"))) }),
  );
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  return { server, port };
}

function channelTo(port: number): GrpcChannel {
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  closers.push(() => channel.close());
  return channel;
}

function sessionTo(port: number): ClientHttp2Session {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  closers.push(() => session.destroy());
  return session;
}

async function rawConnection(port: number): Promise<Socket> {
  const socket = connectNet(port, "127.0.0.1");
  socket.on("error", () => {});
  closers.push(() => socket.destroy());
  await new Promise<void>((resolve) => socket.once("connect", resolve));
  return socket;
}

/** The header fields of the response and its trailers together. */
function request(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  body?: Buffer,
): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    const stream: ClientHttp2Stream = session.request(headers, { endStream: false });
    const fields: Record<string, unknown> = {};
    stream.on("response", (response) => Object.assign(fields, response));
    stream.on("trailers", (trailers) => Object.assign(fields, trailers));
    stream.on("error", reject);
    stream.on("close", () => resolve({ ...fields, rstCode: stream.rstCode }));
    stream.resume();
    stream.end(body);
  });
}

const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const GOAWAY = 7;
const END_HEADERS = 4;

function http2Frame(type: number, flags: number, streamId: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

function literal(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text)]);
}

/** A header block of literal fields, pseudo-header fields first. */
function headerBlock(fields: Record<string, string>): Buffer {
  const names = Object.keys(fields).toSorted();
  return Buffer.concat(
    names.map((name) => Buffer.concat([Buffer.from([0]), literal(name), literal(fields[name] ?? "")])),
  );
}

/** The types of the HTTP/2 frames in what a server sent. */
function frameTypes(bytes: Buffer): number[] {
  const types: number[] = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3] ?? -1);
  return types;
}

async function expectAlive(port: number): Promise<void> {
  const answer = await channelTo(port).unary(ECHO, Buffer.from("alive"));
  expect(Buffer.from(answer).toString()).toBe("alive");
}

describe("requests that are no calls", () => {
  let session: ClientHttp2Session;
  beforeEach(async () => {
    session = sessionTo((await serve()).port);
  });

  it("of an unknown method are UNIMPLEMENTED", async () => {
    const fields = await request(session, { ...GRPC, ":path": "/test.Server/None" });
    expect(fields).toMatchObject({ ":status": 200, "grpc-status": "12" });
  });

  it.each(["text/plain", "application/grpc-web", "application/json"])(
    "of content type %s get HTTP 415",
    async (type) => {
      expect(await request(session, { ...GRPC, "content-type": type })).toMatchObject({ ":status": 415 });
    },
  );

  it.each(["application/grpc+proto", "application/grpc;charset=utf-8"])(
    "of content type %s are calls",
    async (type) => {
      const body = frameMessage(Buffer.alloc(3));
      body.set([0, 0, 0, 0, 3]);
      expect(await request(session, { ...GRPC, "content-type": type }, body)).toMatchObject({ "grpc-status": "0" });
    },
  );

  it("other than POST get HTTP 405", async () => {
    expect(await request(session, { ":method": "PUT", ":path": ECHO })).toMatchObject({
      ":status": 405,
      allow: "POST",
    });
  });

  it("with a malformed grpc-timeout are INTERNAL", async () => {
    expect(await request(session, { ...GRPC, "grpc-timeout": "soon" })).toMatchObject({ "grpc-status": "13" });
  });

  it.each([
    ["no message", Buffer.alloc(0), "12"],
    ["two messages", Buffer.from([0, 0, 0, 0, 1, 7, 0, 0, 0, 0, 1, 7]), "12"],
    ["half a message", Buffer.from([0, 0, 0, 0, 9, 7]), "13"],
    ["a compressed message", Buffer.from([1, 0, 0, 0, 1, 7]), "13"],
    ["a message of 4 GB", Buffer.from([0, 255, 255, 255, 255, 7]), "8"],
  ])("with %s get a status", async (_name, body, status) => {
    expect(await request(session, GRPC, body)).toMatchObject({ "grpc-status": status });
  });

  it("compressed by a known name are UNIMPLEMENTED", async () => {
    const fields = await request(session, { ...GRPC, "grpc-encoding": "gzip" }, Buffer.from([1, 0, 0, 0, 1, 7]));
    expect(fields).toMatchObject({ "grpc-status": "12" });
  });
});

describe("unary calls", () => {
  it("end with DEADLINE_EXCEEDED and an aborted signal when their grpc-timeout runs out", async () => {
    const { server, port } = await serve();
    const aborted = vi.fn();
    server.addUnary("/test.Server/Slow", (_request, { signal }) => {
      return new Promise(() => signal.addEventListener("abort", aborted));
    });
    const headers = { ...GRPC, ":path": "/test.Server/Slow", "grpc-timeout": "30m" };
    const fields = await request(sessionTo(port), headers, Buffer.from([0, 0, 0, 0, 0]));
    expect(fields).toMatchObject({ "grpc-status": "4" });
    expect(aborted).toHaveBeenCalledTimes(1);
  });

  it("abort their signal when the client goes away, and tell who called", async () => {
    const { server, port } = await serve();
    const seen: string[] = [];
    server.addUnary("/test.Server/Slow", (_request, { signal, peer }) => {
      seen.push(peer);
      return new Promise(() => signal.addEventListener("abort", () => seen.push("aborted")));
    });
    const channel = channelTo(port);
    const call = channel.unary("/test.Server/Slow", Buffer.alloc(0));
    await vi.waitFor(() => expect(seen).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+$/)]));
    await channel.close();
    await expect(call).rejects.toMatchObject({ code: StatusCode.CANCELLED });
    await vi.waitFor(() => expect(seen[1]).toBe("aborted"));
  });
});

describe("hostile clients", () => {
  it("that send garbage are dropped, and others notice nothing", async () => {
    const { port } = await serve();
    const preface = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    const attacks = [
      Buffer.alloc(5000, 0xff),
      Buffer.from("GET / HTTP/1.1\r\nhost: x\r\n\r\n"),
      Buffer.concat([preface, Buffer.alloc(5000, 0xff)]),
      // SETTINGS on stream 1, DATA on stream 0, WINDOW_UPDATE of zero, HEADERS with a broken header block.
      Buffer.concat([preface, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 1])]),
      Buffer.concat([preface, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 9])]),
      Buffer.concat([preface, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0])]),
      Buffer.concat([preface, Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 4, 1, 5, 0, 0, 0, 1, 255, 255, 255, 255])]),
    ];
    for (const attack of attacks) {
      const socket = await rawConnection(port);
      let received = Buffer.alloc(0);
      socket.on("data", (data: Buffer) => {
        received = Buffer.concat([received, data]);
      });
      socket.write(attack);
      await vi.waitFor(() => expect(frameTypes(received)).toContain(GOAWAY));
    }
    await expectAlive(port);
  });

  it("that reset streams as fast as they open them do no harm", async () => {
    const { port } = await serve();
    const socket = await rawConnection(port);
    socket.resume();
    const frames = [Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), http2Frame(SETTINGS, 0, 0, Buffer.alloc(0))];
    const requests: Record<string, string>[] = [
      GRPC,
      { ...GRPC, ":method": "GET" },
      { ...GRPC, "content-type": "x" },
      { ...GRPC, ":path": "/none" },
    ];
    for (let n = 0; n < 80; n++) {
      const block = headerBlock({ ":scheme": "http", ":authority": "x", ...requests[n % requests.length] });
      frames.push(
        http2Frame(HEADERS, END_HEADERS, 2 * n + 1, block),
        http2Frame(RST_STREAM, 0, 2 * n + 1, Buffer.from([0, 0, 0, 8])),
      );
    }
    socket.write(Buffer.concat(frames));
    await expectAlive(port);
  });

  it("that connect and say nothing are dropped after the handshake timeout", async () => {
    const { port } = await serve({ handshakeTimeout: 50 });
    const silent = await rawConnection(port);
    silent.resume();
    await new Promise<void>((resolve) => silent.once("close", () => resolve()));
    await expectAlive(port);
  });

  it("that send huge headers are refused", async () => {
    const { port } = await serve();
    const session = sessionTo(port);
    const headers: OutgoingHttpHeaders = { ...GRPC };
    for (let n = 0; n < 100; n++) headers[`x-${n}`] = "v".repeat(4000);
    await expect(request(session, headers, Buffer.alloc(5))).rejects.toThrow();
    await expectAlive(port);
  });

  it("that stop in the middle of a message hold up nobody", async () => {
    const { port } = await serve();
    const stream = sessionTo(port).request(GRPC, { endStream: false });
    stream.on("error", () => {});
    stream.write(Buffer.from([0, 0, 16, 0, 0, 1, 2, 3]));
    await expectAlive(port);
  });

  it("that keep their direction open after the status are reset", async () => {
    const { port } = await serve();
    const stream = sessionTo(port).request({ ...GRPC, ":path": "/test.Server/None" }, { endStream: false });
    stream.resume();
    await new Promise<void>((resolve) => stream.once("close", () => resolve()));
    expect(stream.rstCode).toBe(0);
  });

  it("that do not answer PINGs are dropped when keepalive is on", async () => {
    const { server, port } = await serve({ keepaliveInterval: 20, keepaliveTimeout: 1000 });
    const cancelled = vi.fn();
    server.addStream("/test.Server/Hang", (stream) => stream.handle({ message: () => {}, cancelled }));
    const channel = channelTo(port);
    await channel.connect();
    channel.openStream("/test.Server/Hang", { message: () => {}, status: () => {} });
    const mute = await rawConnection(port);
    mute.resume();
    mute.write(
      Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0])]),
    );
    await new Promise<void>((resolve) => mute.once("close", () => resolve()));
    expect(cancelled).not.toHaveBeenCalled();
  });
});

describe("limits", () => {
  it("hold further streams of a connection back until one ends", async () => {
    const { server, port } = await serve({ maxConcurrentStreams: 1 });
    const open: ServerStream[] = [];
    server.addStream("/test.Server/Hold", (stream) => {
      open.push(stream);
      stream.handle({ message: () => {} });
    });
    const channel = channelTo(port);
    await channel.connect();
    const statuses: number[] = [];
    for (let n = 0; n < 2; n++) {
      channel.openStream("/test.Server/Hold", { message: () => {}, status: ({ code }) => void statuses.push(code) });
    }
    await vi.waitFor(() => expect(open).toHaveLength(1));
    open[0]?.end();
    await vi.waitFor(() => expect(open).toHaveLength(2));
    open[1]?.end();
    await vi.waitFor(() => expect(statuses).toEqual([StatusCode.OK, StatusCode.OK]));
  });
});

describe("listening and closing", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "grpc-"));
    closers.push(() => rm(directory, { recursive: true }));
  });

  it("says why it cannot listen", async () => {
    const { port } = await serve();
    await expect(new GrpcServer().listen({ host: "127.0.0.1", port })).rejects.toMatchObject({ code: "EADDRINUSE" });
    await expect(new GrpcServer().listen({ path: join(directory, "x".repeat(120)) })).rejects.toThrow(
      "the system allows",
    );
    const failed = new GrpcServer();
    await expect(failed.listen({ path: join(directory, "none", "s") })).rejects.toThrow();
    await failed.close();
  });

  it("removes the socket file and leaves no connection", async () => {
    const server = new GrpcServer();
    server.addStream(STREAM, (stream) => stream.handle({ message: () => {} }));
    const path = join(directory, "s");
    await server.listen({ path });
    const channel = new GrpcChannel(`unix:${path}`);
    await channel.connect();
    expect(existsSync(path)).toBe(true);
    await server.close();
    await server.close();
    expect(existsSync(path)).toBe(false);
    await vi.waitFor(() => expect(channel.state).toBe("closed"));
    await expect(new GrpcChannel(`unix:${path}`).connect()).rejects.toMatchObject({ kind: "refused" });
  });

  it("waits for running streams within the grace period", async () => {
    const { server, port } = await serve();
    let running: ServerStream | undefined;
    server.addStream("/test.Server/Slow", (stream) => {
      running = stream;
      stream.handle({ message: () => void stream.send(frameMessage(Buffer.from("up"))) });
    });
    const channel = channelTo(port);
    await channel.connect();
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream("/test.Server/Slow", {
        message() {
          void server.close({ graceMs: 30_000 });
          setImmediate(() => running?.end());
        },
        status: resolve,
      });
      stream.send(frameMessage(Buffer.from("go")));
    });
    expect(status.code).toBe(StatusCode.OK);
    await server.close();
  });

  it("is bounded whatever hangs: streams, silent connections, peers that do not read", async () => {
    const { server, port } = await serve();
    const cancelled = vi.fn();
    server.addStream("/test.Server/Flood", (stream) => {
      stream.handle({ message: () => {}, cancelled });
      for (let n = 0; n < 100; n++) stream.send(frameMessage(Buffer.alloc(64 * 1024)));
    });
    const channel = channelTo(port);
    await channel.connect();
    const status = new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream("/test.Server/Flood", { message: () => {}, status: resolve });
      stream.pause();
    });
    await rawConnection(port);
    const stuck = await rawConnection(port);
    stuck.pause();
    stuck.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await expectAlive(port);
    await server.close({ graceMs: 50 });
    expect((await status).code).toBe(StatusCode.UNAVAILABLE);
    expect(cancelled).toHaveBeenCalledTimes(1);
  });
});
