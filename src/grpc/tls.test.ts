import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type ClientTls, GrpcChannel, GrpcServer, type ServerTls } from "./index.ts";

const ECHO = "/test.Tls/Echo";
const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.warn("TLS tests are skipped: there is no openssl command to make certificates with.");

interface Identity {
  readonly key: Buffer;
  readonly cert: Buffer;
}

let directory: string;
let authority: Identity;
let otherAuthority: Identity;
let serverIdentity: Identity;
let clientIdentity: Identity;
let strangerIdentity: Identity;
let expiredIdentity: Identity;
const closers: (() => unknown)[] = [];

function openssl(...parameters: string[]): void {
  execFileSync("openssl", parameters, { cwd: directory, stdio: "pipe" });
}

function load(name: string): Identity {
  return { key: readFileSync(join(directory, `${name}.key`)), cert: readFileSync(join(directory, `${name}.pem`)) };
}

function makeAuthority(name: string): Identity {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...curve,
    "-keyout",
    `${name}.key`,
    "-out",
    `${name}.pem`,
    "-subj",
    `/CN=${name}`,
    "-days",
    "2",
  );
  return load(name);
}

function makeIdentity(name: string, issuer: string, days = "2"): Identity {
  const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  openssl("req", "-new", ...curve, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
  writeFileSync(join(directory, "ext"), "subjectAltName=DNS:localhost,IP:127.0.0.1\n");
  const signer = ["-CA", `${issuer}.pem`, "-CAkey", `${issuer}.key`, "-CAcreateserial", "-extfile", "ext"];
  openssl("x509", "-req", "-in", `${name}.csr`, ...signer, "-out", `${name}.pem`, "-days", days);
  return load(name);
}

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

describe.skipIf(!hasOpenssl)("TLS", () => {
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "grpc-tls-"));
    authority = makeAuthority("authority");
    otherAuthority = makeAuthority("other");
    serverIdentity = makeIdentity("server", "authority");
    clientIdentity = makeIdentity("client", "authority");
    strangerIdentity = makeIdentity("stranger", "other");
    expiredIdentity = makeIdentity("expired", "authority", "-1");
  });
  afterAll(() => rmSync(directory, { recursive: true }));
  afterEach(async () => {
    for (const close of closers.splice(0).toReversed()) await close();
  });

  it("carries calls, to a name and to an address", async () => {
    const { port } = await serve(serverIdentity);
    for (const host of ["localhost", "127.0.0.1"]) {
      const channel = channelTo(port, { ca: authority.cert }, host);
      expect(Buffer.from(await channel.unary(ECHO, Buffer.from("hi"))).toString()).toBe("hi");
    }
  });

  it("works over a unix socket", async () => {
    const server = new GrpcServer({ tls: serverIdentity });
    server.addUnary(ECHO, (request) => request);
    const { path } = await server.listen({ path: join(directory, "s") });
    closers.push(() => server.close());
    const channel = new GrpcChannel(`unix:${path}`, { tls: { ca: authority.cert } });
    closers.push(() => channel.close());
    await expect(channel.unary(ECHO, Buffer.alloc(3))).resolves.toHaveLength(3);
  });

  it("accepts a client with a certificate of the authority in mutual TLS", async () => {
    const { port } = await serve({ ...serverIdentity, ca: authority.cert });
    const channel = channelTo(port, { ca: authority.cert, ...clientIdentity });
    await expect(channel.unary(ECHO, Buffer.alloc(3))).resolves.toHaveLength(3);
  });

  it.each([
    ["the server's authority is unknown", () => ({ client: { ca: otherAuthority.cert } })],
    ["the server has another name", () => ({ client: { ca: authority.cert, servername: "worker.example" } })],
    ["the server's certificate has expired", () => ({ server: expiredIdentity, client: { ca: authority.cert } })],
    ["the client shows no certificate", () => ({ mutual: true, client: { ca: authority.cert } })],
    [
      "the client's certificate is of another authority",
      () => ({ mutual: true, client: { ca: authority.cert, ...strangerIdentity } }),
    ],
    ["the client does not speak TLS", () => ({ client: undefined })],
    ["the server does not speak TLS", () => ({ plain: true, client: { ca: authority.cert } })],
  ] satisfies [
    string,
    () => { server?: Identity; mutual?: boolean; plain?: boolean; client: ClientTls | undefined },
  ][])("fails in the handshake, and calls nothing, when %s", async (_name, make) => {
    const made: { server?: Identity; mutual?: boolean; plain?: boolean; client: ClientTls | undefined } = make();
    const called: string[] = [];
    const tls = { ...(made.server ?? serverIdentity), ...(made.mutual === true ? { ca: authority.cert } : {}) };
    const { port } = await serve(made.plain === true ? undefined : tls, called);
    await expect(channelTo(port, made.client).unary(ECHO, Buffer.alloc(1))).rejects.toMatchObject({
      name: "ChannelError",
      connected: false,
      // A server that expects TLS hangs up on plain HTTP/2 without a word.
      kind: made.client === undefined ? "refused" : "handshake",
    });
    expect(called).toEqual([]);
  });

  it("replaces the certificate for new connections while running ones go on", async () => {
    const { server, port } = await serve(serverIdentity);
    const running = channelTo(port, { ca: authority.cert });
    await running.connect();
    server.setTls(strangerIdentity);
    await expect(channelTo(port, { ca: authority.cert }).connect()).rejects.toMatchObject({ kind: "handshake" });
    await expect(channelTo(port, { ca: otherAuthority.cert }).unary(ECHO, Buffer.alloc(1))).resolves.toHaveLength(1);
    await expect(running.unary(ECHO, Buffer.alloc(2))).resolves.toHaveLength(2);
  });

  it("cannot be turned on for a server without it", async () => {
    const { server } = await serve(undefined);
    expect(() => server.setTls(serverIdentity)).toThrow("without TLS");
  });
});
