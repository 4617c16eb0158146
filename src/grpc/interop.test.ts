import * as grpc from "@grpc/grpc-js";
import { afterEach, describe, expect, it, vi } from "vitest";
import { GrpcChannel, GrpcServer, type GrpcStatus, GrpcStatusError, StatusCode } from "./index.ts";

const bytes = (value: Buffer): Buffer => value;
const codec = {
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes,
};
const definition = {
  Echo: { path: "/test.Interop/Echo", requestStream: true, responseStream: true, ...codec },
  Twice: { path: "/test.Interop/Twice", requestStream: false, responseStream: false, ...codec },
  Fail: { path: "/test.Interop/Fail", requestStream: false, responseStream: false, ...codec },
} as const;
const ODD_MESSAGE = "50 % of nöthing\n✓";

function frame(message: Uint8Array): Buffer {
  return Buffer.concat([Buffer.alloc(5), message]);
}

const closers: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(setup: (server: GrpcServer) => void): Promise<grpc.Client> {
  const server = new GrpcServer();
  setup(server);
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  const client = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
  closers.push(() => client.close());
  return client;
}

function unary(client: grpc.Client, path: string, request: Buffer, options: grpc.CallOptions = {}): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, bytes, bytes, request, new grpc.Metadata(), options, (error, value) => {
      if (error !== null) reject(error);
      else resolve(value ?? Buffer.alloc(0));
    });
  });
}

async function connectToGrpcJs(implementation: grpc.UntypedServiceImplementation): Promise<GrpcChannel> {
  const server = new grpc.Server();
  server.addService(definition, implementation);
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync("127.0.0.1:0", grpc.ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
  closers.push(() => server.forceShutdown());
  const channel = new GrpcChannel(`127.0.0.1:${port}`);
  closers.push(() => channel.close());
  await channel.connect();
  return channel;
}

const echo = (call: grpc.ServerDuplexStream<Buffer, Buffer>): void => {
  call.on("data", (message: Buffer) => call.write(message));
  call.on("end", () => call.end());
};
const unused = (): void => {};

describe("a grpc-js client against GrpcServer", () => {
  it("streams both ways, with empty and large messages in order", async () => {
    const client = await serve((server) =>
      server.addStream(definition.Echo.path, (stream) =>
        stream.handle({
          message: (buffer, from, to) => void stream.send(frame(buffer.subarray(from, to))),
          halfClosed: () => stream.end(),
        }),
      ),
    );
    const call = client.makeBidiStreamRequest(definition.Echo.path, bytes, bytes);
    const sent = [Buffer.from("a"), Buffer.alloc(0), Buffer.alloc(300_000, 7), Buffer.from("z")];
    const received: Buffer[] = [];
    call.on("data", (message: Buffer) => received.push(message));
    for (const message of sent) call.write(message);
    call.end();
    const status = await new Promise<grpc.StatusObject>((resolve) => call.on("status", resolve));
    expect(status.code).toBe(StatusCode.OK);
    expect(Buffer.concat(received).equals(Buffer.concat(sent))).toBe(true);
    expect(received.map((message) => message.length)).toEqual(sent.map((message) => message.length));
  });

  it("gets the status that the server ends an open stream with", async () => {
    const client = await serve((server) =>
      server.addStream(definition.Echo.path, (stream) =>
        stream.handle({
          message: () => {
            stream.send(frame(Buffer.from("last")));
            stream.end({ code: StatusCode.ABORTED, message: ODD_MESSAGE });
          },
        }),
      ),
    );
    const call = client.makeBidiStreamRequest(definition.Echo.path, bytes, bytes);
    const received: string[] = [];
    call.on("data", (message: Buffer) => received.push(message.toString()));
    call.on("error", () => {});
    call.write(Buffer.from("go"));
    const status = await new Promise<grpc.StatusObject>((resolve) => call.on("status", resolve));
    expect(status).toMatchObject({ code: StatusCode.ABORTED, details: ODD_MESSAGE });
    expect(received).toEqual(["last"]);
  });

  it("cancels, and the server is told", async () => {
    let cancelled = 0;
    const client = await serve((server) =>
      server.addStream(definition.Echo.path, (stream) =>
        stream.handle({
          message: () => void stream.send(frame(Buffer.from("started"))),
          cancelled: () => {
            cancelled++;
          },
        }),
      ),
    );
    const call = client.makeBidiStreamRequest(definition.Echo.path, bytes, bytes);
    call.on("error", () => {});
    call.once("data", () => call.cancel());
    call.write(Buffer.from("go"));
    await vi.waitFor(() => expect(cancelled).toBe(1));
  });

  it("calls unary methods, and gets their errors", async () => {
    const client = await serve((server) => {
      server.addUnary(definition.Twice.path, (request) => Buffer.concat([request, request]));
      server.addUnary(definition.Fail.path, (request) => {
        if (request.length === 0) throw new Error("boom");
        throw new GrpcStatusError(StatusCode.NOT_FOUND, ODD_MESSAGE);
      });
    });
    expect((await unary(client, definition.Twice.path, Buffer.from("ab"))).toString()).toBe("abab");
    await expect(unary(client, definition.Fail.path, Buffer.from("x"))).rejects.toMatchObject({
      code: StatusCode.NOT_FOUND,
      details: ODD_MESSAGE,
    });
    await expect(unary(client, definition.Fail.path, Buffer.alloc(0))).rejects.toMatchObject({
      code: StatusCode.INTERNAL,
      details: "boom",
    });
    await expect(unary(client, "/test.Interop/None", Buffer.alloc(0))).rejects.toMatchObject({
      code: StatusCode.UNIMPLEMENTED,
    });
  });
});

describe("GrpcChannel against a grpc-js server", () => {
  it("streams both ways, with empty and large messages in order", async () => {
    const channel = await connectToGrpcJs({ Echo: echo, Twice: unused, Fail: unused });
    const sent = [Buffer.from("a"), Buffer.alloc(0), Buffer.alloc(300_000, 7), Buffer.from("z")];
    const received: Buffer[] = [];
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(definition.Echo.path, {
        message: (buffer, from, to) => void received.push(buffer.subarray(from, to)),
        status: resolve,
      });
      for (const message of sent) stream.send(frame(message));
      stream.halfClose();
    });
    expect(status.code).toBe(StatusCode.OK);
    expect(Buffer.concat(received).equals(Buffer.concat(sent))).toBe(true);
    expect(received.map((message) => message.length)).toEqual(sent.map((message) => message.length));
  });

  it("gets the status of a stream that the server ends with an error", async () => {
    const channel = await connectToGrpcJs({
      Echo: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
        call.on("data", () => call.emit("error", { code: StatusCode.RESOURCE_EXHAUSTED, details: ODD_MESSAGE }));
      },
      Twice: unused,
      Fail: unused,
    });
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(definition.Echo.path, { message: () => {}, status: resolve });
      stream.send(frame(Buffer.from("go")));
    });
    expect(status).toEqual({ code: StatusCode.RESOURCE_EXHAUSTED, message: ODD_MESSAGE });
  });

  it("cancels, and the server is told", async () => {
    let cancelled = 0;
    const channel = await connectToGrpcJs({
      Echo: (call: grpc.ServerDuplexStream<Buffer, Buffer>) => {
        call.on("cancelled", () => {
          cancelled++;
        });
        echo(call);
      },
      Twice: unused,
      Fail: unused,
    });
    const status = await new Promise<GrpcStatus>((resolve) => {
      const stream = channel.openStream(definition.Echo.path, { message: () => stream.cancel(), status: resolve });
      stream.send(frame(Buffer.from("go")));
    });
    expect(status.code).toBe(StatusCode.CANCELLED);
    await vi.waitFor(() => expect(cancelled).toBe(1));
  });

  it("calls unary methods, gets their errors and honours the timeout", async () => {
    const channel = await connectToGrpcJs({
      Echo: echo,
      Twice: (call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) => {
        if (call.request.length > 0) done(null, Buffer.concat([call.request, call.request]));
      },
      Fail: (_call: grpc.ServerUnaryCall<Buffer, Buffer>, done: grpc.sendUnaryData<Buffer>) =>
        done({ code: grpc.status.NOT_FOUND, details: ODD_MESSAGE }),
    });
    expect(Buffer.from(await channel.unary(definition.Twice.path, Buffer.from("ab"))).toString()).toBe("abab");
    await expect(channel.unary(definition.Fail.path, Buffer.alloc(0))).rejects.toMatchObject({
      name: "GrpcStatusError",
      code: StatusCode.NOT_FOUND,
      message: ODD_MESSAGE,
    });
    await expect(channel.unary("/test.Interop/None", Buffer.alloc(0))).rejects.toMatchObject({
      code: StatusCode.UNIMPLEMENTED,
    });
    await expect(channel.unary(definition.Twice.path, Buffer.alloc(0), { timeout: 50 })).rejects.toMatchObject({
      code: StatusCode.DEADLINE_EXCEEDED,
    });
  });
});
