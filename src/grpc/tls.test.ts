import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { Client, credentials as grpcCredentials, Server, ServerCredentials } from "@grpc/grpc-js";
import { afterEach, describe, expect, it } from "vitest";
import { CertificateAuthority, type IssueOptions, type KeyAndCertificate } from "../security/index.ts";
import { type ClientTls, GrpcChannel, GrpcServer, type ServerTls } from "./index.ts";

const ECHO = "/test.Tls/Echo";
const DAY_MS = 86_400_000;
const LOCAL = { role: "worker", names: ["localhost", "127.0.0.1"] } as const;
const PAST = { notBefore: new Date(Date.now() - 2 * DAY_MS), notAfter: new Date(Date.now() - DAY_MS) };
const FUTURE = { notBefore: new Date(Date.now() + DAY_MS) };

const authority = new CertificateAuthority(CertificateAuthority.create("authority"));
const other = new CertificateAuthority(CertificateAuthority.create("other"));
const worker = authority.issue(LOCAL);
const client = authority.issue({ role: "client", names: ["client.example"] });
const closers: (() => unknown)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function serve(tls: ServerTls | undefined, called: string[] = []): Promise<{ server: GrpcServer; port: number }> {
  const server = new GrpcServer(tls === undefined ? {} : { tls });
  server.addUnary(ECHO, (request) => {
    called.push("called");
    return request;
  });
  const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
  closers.push(() => server.close());
  return { server, port };
}

function channelTo(port: number, tls: ClientTls | undefined, host = "127.0.0.1"): GrpcChannel {
  const channel = new GrpcChannel(`${host}:${port}`, { connectTimeout: 20_000, ...(tls === undefined ? {} : { tls }) });
  closers.push(() => channel.close());
  return channel;
}

function issued(options: Partial<IssueOptions>, by = authority): KeyAndCertificate {
  return by.issue({ ...LOCAL, ...options });
}

describe("TLS", () => {
  it("carries calls, to a name and to an address", async () => {
    const { port } = await serve(worker);
    for (const host of ["localhost", "127.0.0.1"]) {
      const channel = channelTo(port, { ca: authority.cert }, host);
      expect(Buffer.from(await channel.unary(ECHO, Buffer.from("hi"))).toString()).toBe("hi");
    }
  });

  it("works over a unix socket", async () => {
    const directory = mkdtempSync(join(tmpdir(), "grpc-tls-"));
    closers.push(() => rmSync(directory, { recursive: true }));
    const server = new GrpcServer({ tls: worker });
    server.addUnary(ECHO, (request) => request);
    const { path } = await server.listen({ path: join(directory, "s") });
    closers.push(() => server.close());
    const channel = new GrpcChannel(`unix:${path}`, { tls: { ca: authority.cert } });
    closers.push(() => channel.close());
    await expect(channel.unary(ECHO, Buffer.alloc(3))).resolves.toHaveLength(3);
  });

  it("accepts a client with a certificate of the authority in mutual TLS, and tells who it is", async () => {
    const server = new GrpcServer({ tls: { ...worker, ca: authority.cert } });
    const seen: unknown[] = [];
    server.addUnary(ECHO, (request, { peerCertificate }) => {
      seen.push(peerCertificate?.subjectAltName);
      return request;
    });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const channel = channelTo(port, { ca: authority.cert, ...client });
    await expect(channel.unary(ECHO, Buffer.alloc(3))).resolves.toHaveLength(3);
    expect(seen).toEqual(["DNS:client.example"]);
  });

  it.each([
    ["the worker's authority is unknown", "from another authority", { client: { ca: other.cert } }],
    ["the worker has another name", "for another name", { client: { ca: authority.cert, servername: "w.example" } }],
    ["the worker's certificate has expired", "the worker's certificate has expired", { server: issued(PAST) }],
    ["the worker's certificate is not valid yet", "is not valid yet", { server: issued(FUTURE) }],
    ["the worker's certificate is one of a client", "not for servers", { server: issued({ role: "client" }) }],
    ["the client shows no certificate", "showed no certificate", { mutual: true }],
    [
      "the client's certificate is from another authority",
      "the client's certificate is from another authority",
      { mutual: true, client: { ca: authority.cert, ...issued({ role: "client" }, other) } },
    ],
    [
      "the client's certificate has expired",
      "the client's certificate has expired",
      { mutual: true, client: { ca: authority.cert, ...issued({ role: "client", ...PAST }) } },
    ],
    [
      "the client's certificate is not valid yet",
      "the client's certificate is not valid yet",
      { mutual: true, client: { ca: authority.cert, ...issued({ role: "client", ...FUTURE }) } },
    ],
    ["the client does not speak TLS", "this worker speaks TLS only", { client: undefined }],
    ["the worker does not speak TLS", "the worker does not speak TLS", { plain: true }],
  ] satisfies [
    string,
    string,
    { server?: KeyAndCertificate; mutual?: boolean; plain?: boolean; client?: ClientTls | undefined },
  ][])("fails in the handshake, and calls nothing, when %s", async (_name, reason, given) => {
    const made: { server?: KeyAndCertificate; mutual?: boolean; plain?: boolean; client?: ClientTls | undefined } =
      given;
    const called: string[] = [];
    const tls = { ...(made.server ?? worker), ...(made.mutual === true ? { ca: authority.cert } : {}) };
    const { port } = await serve(made.plain === true ? undefined : tls, called);
    const channel = channelTo(port, "client" in made ? made.client : { ca: authority.cert });
    await expect(channel.unary(ECHO, Buffer.alloc(1))).rejects.toMatchObject({
      name: "ChannelError",
      connected: false,
      kind: "handshake",
      message: expect.stringContaining(reason) as unknown,
    });
    expect(called).toEqual([]);
  });

  it.each([
    ["TLSv1.3", undefined, "TLSv1.3"],
    ["TLSv1.2", "TLSv1.2", "TLSv1.2"],
    ["nothing older", "TLSv1.1", undefined],
  ] as const)("speaks %s", async (_name, maxVersion, expected) => {
    const { port } = await serve(worker);
    const socket = connectTls({
      host: "127.0.0.1",
      port,
      ca: authority.cert,
      ALPNProtocols: ["h2"],
      servername: "",
      ...(maxVersion === undefined ? {} : { maxVersion, minVersion: maxVersion, ciphers: "DEFAULT@SECLEVEL=0" }),
    });
    closers.push(() => socket.destroy());
    const protocol = await new Promise((resolve) => {
      socket.on("secureConnect", () => resolve(socket.getProtocol()));
      socket.on("error", () => resolve(undefined));
    });
    expect(protocol).toBe(expected);
  });

  it("turns away clients that do not agree on HTTP/2", async () => {
    const { port } = await serve(worker);
    const socket = connectTls({
      host: "127.0.0.1",
      port,
      ca: authority.cert,
      ALPNProtocols: ["http/1.1"],
      servername: "",
    });
    const ended = new Promise((resolve) => {
      socket.on("error", resolve);
      socket.on("close", resolve);
    });
    await expect(ended).resolves.toMatchObject({ code: "ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL" });
  });

  it("does not resume sessions, which would skip the check of the certificate", async () => {
    const { port } = await serve({ ...worker, ca: authority.cert });
    const connect = (session?: Buffer) =>
      connectTls({
        host: "127.0.0.1",
        port,
        ca: authority.cert,
        ...client,
        ALPNProtocols: ["h2"],
        servername: "",
        maxVersion: "TLSv1.2",
        ...(session === undefined ? {} : { session }),
      });
    const first = connect();
    await new Promise((resolve) => first.once("secureConnect", resolve));
    const session = first.getSession();
    first.destroy();
    const second = connect(session);
    await new Promise((resolve) => second.once("secureConnect", resolve));
    expect(second.isSessionReused()).toBe(false);
    second.destroy();
  });

  it("drops connections that say nothing, or only begin a handshake", async () => {
    const server = new GrpcServer({ tls: worker, handshakeTimeout: 50 });
    const { port } = await server.listen({ host: "127.0.0.1", port: 0 });
    closers.push(() => server.close());
    const { connect } = await import("node:net");
    for (const bytes of ["", "\x16\x03\x01"]) {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      if (bytes !== "") socket.write(Buffer.from(bytes, "latin1"));
      socket.resume();
      await new Promise((resolve) => socket.once("close", resolve));
    }
  });

  it("replaces the certificate for new connections while running ones go on", async () => {
    const { server, port } = await serve(worker);
    const running = channelTo(port, { ca: authority.cert });
    await running.connect();
    server.setTls(issued({}, other));
    await expect(channelTo(port, { ca: authority.cert }).connect()).rejects.toMatchObject({ kind: "handshake" });
    await expect(channelTo(port, { ca: other.cert }).unary(ECHO, Buffer.alloc(1))).resolves.toHaveLength(1);
    await expect(running.unary(ECHO, Buffer.alloc(2))).resolves.toHaveLength(2);
  });

  it("replaces the authority of clients for new connections", async () => {
    const { server, port } = await serve({ ...worker, ca: authority.cert });
    server.setTls({ ...worker, ca: other.cert });
    await expect(channelTo(port, { ca: authority.cert, ...client }).connect()).rejects.toThrow(
      "from another authority",
    );
    const stranger = issued({ role: "client" }, other);
    await expect(channelTo(port, { ca: authority.cert, ...stranger }).connect()).resolves.toBeUndefined();
  });

  it("cannot be turned on for a server without it", async () => {
    const { server } = await serve(undefined);
    expect(() => server.setTls(worker)).toThrow("without TLS");
  });
});

describe("TLS with another implementation of gRPC", () => {
  const identity = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
  const buffers = { ca: Buffer.from(authority.cert), key: Buffer.from(client.key), cert: Buffer.from(client.cert) };

  it("serves its clients", async () => {
    const { port } = await serve({ ...worker, ca: authority.cert });
    const stub = new Client(`localhost:${port}`, grpcCredentials.createSsl(buffers.ca, buffers.key, buffers.cert));
    closers.push(() => stub.close());
    const answer = new Promise((resolve, reject) => {
      stub.makeUnaryRequest(ECHO, identity, identity, Buffer.from("hi"), (error, value) =>
        error === null ? resolve(String(value)) : reject(error),
      );
    });
    await expect(answer).resolves.toBe("hi");
  });

  it("calls its servers", async () => {
    const server = new Server();
    server.register(
      ECHO,
      (call: { request: Buffer }, answer: (error: null, value: Buffer) => void) => answer(null, call.request),
      identity,
      identity,
      "unary",
    );
    const pair = { private_key: Buffer.from(worker.key), cert_chain: Buffer.from(worker.cert) };
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createSsl(buffers.ca, [pair], true), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    closers.push(() => server.forceShutdown());
    const channel = channelTo(port, { ca: authority.cert, ...client });
    expect(String(Buffer.from(await channel.unary(ECHO, Buffer.from("hi"))))).toBe("hi");
  });
});
