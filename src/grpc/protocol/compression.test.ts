import { randomBytes } from "node:crypto";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { Client, credentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { GrpcChannel } from "../client/channel.ts";
import { GrpcServer } from "../server/server.ts";
import { COMPRESS_FROM_BYTES, COMPRESS_UP_TO_BYTES, expandMessage, MessageCompressor } from "./compression.ts";
import { frameMessage, PREFIX_BYTES } from "./frame-message.ts";
import { GrpcStatusError, StatusCode } from "./status.ts";

const ECHO = "/test.Service/Echo";
const text = Buffer.from("all work and no play ".repeat(2000));
const noise = randomBytes(40_000);

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** Starts a server that echoes messages. Returns its address. */
async function serve(compression?: "gzip", maxMessageBytes = 1_000_000): Promise<string> {
  const server = new GrpcServer({ maxMessageBytes, ...(compression === undefined ? {} : { compression }) });
  server.addUnary(ECHO, (request) => Uint8Array.from(request));
  open.push(() => server.close());
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  return `127.0.0.1:${port}`;
}

interface RawAnswer {
  readonly headers: Record<string, unknown>;
  readonly trailers: Record<string, unknown>;
  readonly flag: number | undefined;
  readonly bytes: number;
}

/** The answer to a client that writes raw bytes. */
async function raw(address: string, headers: Record<string, string>, message: Buffer): Promise<RawAnswer> {
  const session = connect(`http://${address}`);
  open.push(() => new Promise<void>((resolve) => session.close(resolve)));
  const stream = session.request({
    ":method": "POST",
    ":path": ECHO,
    "content-type": "application/grpc",
    te: "trailers",
    ...headers,
  });
  const [answered, trailers]: Record<string, unknown>[] = [{}, {}];
  const chunks: Buffer[] = [];
  stream.on("response", (fields) => Object.assign(answered ?? {}, fields));
  stream.on("trailers", (fields) => Object.assign(trailers ?? {}, fields));
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  stream.end(message);
  await new Promise((resolve) => stream.once("close", resolve));
  const body = Buffer.concat(chunks);
  return { headers: answered ?? {}, trailers: trailers ?? {}, flag: body[0], bytes: body.length };
}

function compressed(message: Buffer): Buffer {
  const framed = Buffer.from(frameMessage(gzipSync(message)));
  framed[0] = 1;
  framed.writeUInt32BE(framed.length - PREFIX_BYTES, 1);
  return framed;
}

function plain(message: Buffer): Buffer {
  const framed = Buffer.from(frameMessage(message));
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  return framed;
}

describe("messages between a client and a server that both compress", () => {
  it.each([
    ["text", text],
    ["noise", noise],
    ["a small message", Buffer.from("small")],
    ["nothing", Buffer.alloc(0)],
  ])("arrive as they were: %s", async (_name, message) => {
    const channel = new GrpcChannel(await serve("gzip"), { compression: "gzip" });
    open.push(() => channel.close());
    expect(Buffer.from(await channel.unary(ECHO, message)).equals(message)).toBe(true);
  });

  it("are compressed on the wire when they are large and shrink", async () => {
    const address = await serve("gzip");
    const headers = { "grpc-encoding": "gzip", "grpc-accept-encoding": "identity, gzip" };
    const answer = await raw(address, headers, compressed(text));
    expect(answer.headers).toMatchObject({ "grpc-encoding": "gzip", "grpc-accept-encoding": "identity,gzip" });
    expect(answer.flag).toBe(1);
    expect(answer.bytes).toBeLessThan(text.length / 10);
    expect((await raw(address, headers, plain(Buffer.from("small")))).flag).toBe(0);
    expect((await raw(address, headers, compressed(noise))).flag).toBe(0);
  });

  it("are not compressed for a client that does not take that", async () => {
    const answer = await raw(await serve("gzip"), {}, plain(text));
    expect(answer).toMatchObject({ flag: 0, bytes: text.length + PREFIX_BYTES });
    expect(answer.headers).not.toHaveProperty("grpc-encoding");
  });

  it("are understood by another implementation", async () => {
    const client = new Client(await serve("gzip"), credentials.createInsecure(), {
      "grpc.default_compression_algorithm": 2,
    });
    open.push(async () => client.close());
    const answer = await new Promise<Buffer>((resolve, reject) => {
      const same = (bytes: Buffer): Buffer => bytes;
      client.makeUnaryRequest(ECHO, same, same, text, (error, response) => {
        if (response === undefined) reject(error ?? new Error("no response"));
        else resolve(response);
      });
    });
    expect(answer.equals(text)).toBe(true);
  });
});

describe("a compression that is not accepted", () => {
  it("is refused, and the client is told what is accepted", async () => {
    const { headers } = await raw(await serve(), { "grpc-encoding": "gzip" }, compressed(text));
    expect(headers).toMatchObject({
      "grpc-status": String(StatusCode.UNIMPLEMENTED),
      "grpc-accept-encoding": "identity",
    });
  });

  it("is refused by a server that accepts another one", async () => {
    const { headers } = await raw(await serve("gzip"), { "grpc-encoding": "br" }, compressed(text));
    expect(headers).toMatchObject({
      "grpc-status": String(StatusCode.UNIMPLEMENTED),
      "grpc-accept-encoding": "identity,gzip",
    });
  });

  it("fails the call of a client with its status", async () => {
    const channel = new GrpcChannel(await serve(), { compression: "gzip" });
    open.push(() => channel.close());
    await expect(channel.unary(ECHO, text)).rejects.toMatchObject({ code: StatusCode.UNIMPLEMENTED });
  });
});

describe("a compressed message", () => {
  it("that is larger than the limit when it is expanded is RESOURCE_EXHAUSTED, and takes no memory", async () => {
    const bomb = Buffer.alloc(50_000_000);
    const { headers } = await raw(await serve("gzip", 100_000), { "grpc-encoding": "gzip" }, compressed(bomb));
    expect(headers).toMatchObject({ "grpc-status": String(StatusCode.RESOURCE_EXHAUSTED) });
  });

  it("is at most 4 MiB, however large others may be", () => {
    const most = Buffer.alloc(COMPRESS_UP_TO_BYTES);
    expect(expandMessage(gzipSync(most), 64_000_000)).toHaveLength(most.length);
    const more = Buffer.concat([most, Buffer.alloc(1)]);
    expect(() => expandMessage(gzipSync(more), 64_000_000)).toThrow(/limit of 4194304 bytes.*without compression/);
    expect(new MessageCompressor().compress(frameMessage(most))).toBeDefined();
    expect(new MessageCompressor().compress(frameMessage(more))).toBeUndefined();
  });

  it("of one stream is expanded in turn with those of others: a little message is not behind all of them", async () => {
    const seen: string[] = [];
    const server = new GrpcServer({ compression: "gzip" });
    server.addStream("/test.Compression/Take", (stream) =>
      stream.handle({
        message: (_buffer, start, end) => void seen.push(end - start > 100 ? "large" : "small"),
        halfClosed: () => stream.end(),
      }),
    );
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    open.push(() => server.close());
    const session = connect(`http://127.0.0.1:${port}`);
    open.push(async () => session.destroy());
    const call = {
      ":method": "POST",
      ":path": "/test.Compression/Take",
      "content-type": "application/grpc",
      "grpc-encoding": "gzip",
    };
    const greedy = session.request(call);
    const polite = session.request(call);
    const bombs = Buffer.concat(Array.from({ length: 10 }, () => compressed(Buffer.alloc(2_000_000))));
    greedy.end(bombs);
    polite.end(compressed(Buffer.from("small")));
    greedy.resume();
    polite.resume();
    await Promise.all([greedy, polite].map((stream) => new Promise((resolve) => stream.once("close", resolve))));
    expect(seen.filter((each) => each === "large")).toHaveLength(10);
    expect(seen.indexOf("small")).toBeLessThan(5);
  });

  it("that is damaged is INTERNAL", () => {
    expect(() => expandMessage(Buffer.from("no gzip"), 100)).toThrow(GrpcStatusError);
    expect(() => expandMessage(gzipSync("a").subarray(0, 12), 100)).toThrow(/cannot be expanded/);
  });

  it("is made only from a size on, and not right after one that did not shrink", () => {
    const compressor = new MessageCompressor();
    const framed = (message: Buffer): Uint8Array => frameMessage(message);
    expect(compressor.compress(framed(text.subarray(0, COMPRESS_FROM_BYTES - 1)))).toBeUndefined();
    expect(compressor.compress(framed(text.subarray(0, COMPRESS_FROM_BYTES)))).toBeDefined();
    expect(compressor.compress(framed(noise))).toBeUndefined();
    expect(compressor.compress(framed(text))).toBeUndefined();
    const later = Array.from({ length: 20 }, () => compressor.compress(framed(text)));
    expect(later.at(-1)).toBeDefined();
  });
});
