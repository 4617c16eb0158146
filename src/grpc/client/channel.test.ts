import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  ChannelError,
  frameMessage,
  GrpcChannel,
  GrpcServer,
  type GrpcStatus,
  type GrpcStream,
  StatusCode,
} from "../index.ts";

const HANG = "/test.Channel/Hang";
const ECHO = "/test.Channel/Echo";
const closers: (() => unknown)[] = [];
let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "grpc-"));
});
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
  await rm(directory, { recursive: true });
});

async function serve(): Promise<{ server: GrpcServer; path: string }> {
  const server = new GrpcServer();
  server.addStream(HANG, (stream) =>
    stream.handle({ message: () => void stream.send(frameMessage(Buffer.from("up"))) }),
  );
  server.addUnary(ECHO, (request) => request);
  const { path } = await server.listen({ path: join(directory, "s") });
  closers.push(() => server.close());
  return { server, path };
}

/** A server of raw sockets, for peers that are not gRPC servers. */
async function serveRaw(onSocket: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  const path = join(directory, "raw");
  await new Promise<void>((resolve) => server.listen(path, resolve));
  closers.push(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return path;
}

async function failure(channel: GrpcChannel): Promise<ChannelError> {
  const error = await channel.connect().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof ChannelError) return error;
  throw new Error(`expected a ChannelError, got ${String(error)}`);
}

/** Opens a stream and waits until the server has it; `events` gets its status. */
async function hang(channel: GrpcChannel, events: string[]): Promise<GrpcStream> {
  let running = false;
  const stream = channel.openStream(HANG, {
    message() {
      running = true;
    },
    status: ({ code }) => void events.push(`status ${code}`),
  });
  stream.send(frameMessage(Buffer.from("go")));
  await vi.waitFor(() => expect(running).toBe(true));
  return stream;
}

async function connect(path: string, onClose?: (reason: ChannelError) => void): Promise<GrpcChannel> {
  const channel = new GrpcChannel(`unix:${path}`, onClose === undefined ? {} : { onClose });
  closers.push(() => channel.close());
  await channel.connect();
  return channel;
}

describe("connecting", () => {
  it("to nothing is refused, with onClose told once", async () => {
    const onClose = vi.fn();
    for (const target of [`unix:${join(directory, "none")}`, "127.0.0.1:1"]) {
      onClose.mockClear();
      const channel = new GrpcChannel(target, { onClose });
      const error = await failure(channel);
      expect(error).toMatchObject({ kind: "refused", connected: false, code: StatusCode.UNAVAILABLE });
      expect(error.message).toContain(target);
      expect(error.cause).toBeInstanceOf(Error);
      expect(await failure(channel)).toBe(error);
      await channel.close();
      expect(onClose.mock.calls).toEqual([[error]]);
    }
  });

  it("to a peer that is silent times out", async () => {
    const path = await serveRaw(() => {});
    const error = await failure(new GrpcChannel(`unix:${path}`, { connectTimeout: 50 }));
    expect(error).toMatchObject({ kind: "timeout", connected: false });
    expect(error.message).toContain("50 ms");
  });

  it("to a peer that speaks something else fails in the handshake", async () => {
    const path = await serveRaw((socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n".repeat(10)));
    expect(await failure(new GrpcChannel(`unix:${path}`))).toMatchObject({ kind: "handshake", connected: false });
  });

  it("to a peer that hangs up is refused", async () => {
    const path = await serveRaw((socket) => socket.destroy());
    expect(await failure(new GrpcChannel(`unix:${path}`))).toMatchObject({ kind: "refused", connected: false });
  });

  it("happens once for any number of callers", async () => {
    const { path } = await serve();
    const channel = new GrpcChannel(`unix:${path}`);
    closers.push(() => channel.close());
    expect(channel.state).toBe("idle");
    const first = channel.connect();
    expect(channel.connect()).toBe(first);
    expect(channel.state).toBe("connecting");
    await first;
    expect(channel.state).toBe("ready");
  });

  it("ends as closed when the channel is closed meanwhile, or was before", async () => {
    const path = await serveRaw(() => {});
    const onClose = vi.fn();
    const channel = new GrpcChannel(`unix:${path}`, { onClose });
    const connecting = failure(channel);
    await channel.close();
    expect(await connecting).toMatchObject({ kind: "closed", connected: false, code: StatusCode.CANCELLED });
    expect(onClose).toHaveBeenCalledTimes(1);
    const unused = new GrpcChannel(`unix:${path}`);
    await unused.close();
    expect(await failure(unused)).toMatchObject({ kind: "closed", connected: false });
  });

  it("is needed before a stream is opened", async () => {
    const { path } = await serve();
    const channel = new GrpcChannel(`unix:${path}`);
    expect(() => channel.openStream(HANG, { message: () => {}, status: () => {} })).toThrow("Await connect()");
  });
});

describe("a connected channel", () => {
  it("gives UNAVAILABLE to its streams and then says so once when the server dies", async () => {
    const { server, path } = await serve();
    const events: string[] = [];
    const channel = await connect(path, (reason) => events.push(`${reason.kind} ${reason.connected}`));
    await hang(channel, events);
    await server.close();
    await vi.waitFor(() => expect(events).toEqual([`status ${StatusCode.UNAVAILABLE}`, "closed true"]));
    expect(await failure(channel)).toMatchObject({ kind: "closed", connected: true, code: StatusCode.UNAVAILABLE });
    expect(events).toHaveLength(2);
  });

  it("finishes running streams and opens no new ones after the server said goodbye", async () => {
    const { server, path } = await serve();
    const events: string[] = [];
    const channel = await connect(path, (reason) => events.push(reason.kind));
    const stream = await hang(channel, events);
    const closing = server.close({ graceMs: 30_000 });
    await vi.waitFor(() => expect(channel.state).toBe("draining"));
    expect(() => channel.openStream(HANG, { message: () => {}, status: () => {} })).toThrow("shutting down");
    stream.cancel();
    await closing;
    await vi.waitFor(() => expect(events).toEqual([`status ${StatusCode.CANCELLED}`, "closed"]));
  });

  it("gives CANCELLED to its streams when this side closes it", async () => {
    const { path } = await serve();
    const events: string[] = [];
    const channel = await connect(path, (reason) => events.push(reason.kind));
    await hang(channel, events);
    await channel.close();
    await channel.close();
    expect(events).toEqual([`status ${StatusCode.CANCELLED}`, "closed"]);
    await expect(channel.unary(ECHO, Buffer.alloc(1))).rejects.toMatchObject({ kind: "closed" });
  });

  it("reports what a message handler throws as the status, and tells the server", async () => {
    const { path } = await serve();
    const channel = await connect(path);
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(HANG, {
        message() {
          throw new Error("cannot decode this");
        },
        status: resolve,
      });
      stream.send(frameMessage(Buffer.from("go")));
    });
    expect(status).toEqual({ code: StatusCode.INTERNAL, message: "cannot decode this" });
    expect(Buffer.from(await channel.unary(ECHO, Buffer.from("alive"))).toString()).toBe("alive");
  });

  it("refuses a message above its limit", async () => {
    const { path } = await serve();
    const channel = new GrpcChannel(`unix:${path}`, { maxMessageBytes: 100 });
    closers.push(() => channel.close());
    await expect(channel.unary(ECHO, Buffer.alloc(101))).rejects.toMatchObject({ code: StatusCode.RESOURCE_EXHAUSTED });
    await expect(channel.unary(ECHO, Buffer.alloc(100))).resolves.toHaveLength(100);
  });
});
