import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./free-port.ts";
import { until } from "./until.ts";

const run = promisify(execFile);

/** Certificates for servers on this machine. */
export interface TestCertificates {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Makes an authority and a certificate for 127.0.0.1, as files in a folder. */
export function makeCertificates(folder: string): TestCertificates {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { cwd: folder, stdio: "pipe" });
  const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...newKey,
    "-keyout",
    "ca.key",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=test authority",
    "-days",
    "2",
  );
  openssl("req", ...newKey, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=localhost");
  writeFileSync(join(folder, "names"), "subjectAltName=IP:127.0.0.1,DNS:localhost");
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "names", "-days", "2"];
  openssl("x509", "-req", "-in", "server.csr", ...signing, "-out", "server.pem");
  return { ca: join(folder, "ca.pem"), cert: join(folder, "server.pem"), key: join(folder, "server.key") };
}

/** A server that a test has started on a private port; it can be stopped and started again with its data. */
export class TestServer implements AsyncDisposable {
  readonly port: number;
  readonly folder: string;
  readonly #command: (server: TestServer) => readonly string[];
  readonly #isReady: (server: TestServer) => Promise<boolean>;
  #child: ChildProcess | undefined;
  #output = "";

  private constructor(
    port: number,
    folder: string,
    command: (server: TestServer) => readonly string[],
    isReady: (server: TestServer) => Promise<boolean>,
  ) {
    this.port = port;
    this.folder = folder;
    this.#command = command;
    this.#isReady = isReady;
  }

  static async prepare(
    command: (server: TestServer) => readonly string[],
    isReady: (server: TestServer) => Promise<boolean> = isListening,
  ): Promise<TestServer> {
    return new TestServer(await freePort(), mkdtempSync(join(tmpdir(), "wool-server-")), command, isReady);
  }

  get address(): string {
    return `127.0.0.1:${this.port}`;
  }

  /** The process of the server, while it runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  async start(): Promise<this> {
    const [program = "", ...args] = this.#command(this);
    // Some programs are in folders that only the PATH of root has.
    const env = { ...process.env, PATH: `${process.env["PATH"]}:/usr/sbin:/sbin` };
    const child = spawn(program, args, { stdio: ["ignore", "pipe", "pipe"], cwd: this.folder, env });
    this.#child = child;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
    }
    await until(async () => {
      if (child.exitCode !== null) throw new Error(`${program} has ended: ${this.#output}`);
      return await this.#isReady(this);
    }, `${program} answers`);
    return this;
  }

  /** Ends the server at once; its data stays. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.on("close", resolve));
    child.kill("SIGKILL");
    await ended;
  }

  /** Freezes the server, or lets it go on. */
  signal(signal: "SIGSTOP" | "SIGCONT"): void {
    this.#child?.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function isListening({ port }: TestServer): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.on("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}

/** How an etcd server is started. */
export interface EtcdSettings {
  /** Whether it uses TLS, and asks for a certificate. */
  readonly certificates?: (folder: string) => TestCertificates;
  /** More of its options, without the dashes. */
  readonly options?: Readonly<Record<string, string>>;
}

/** An etcd server. */
export async function startEtcd({ certificates, options = {} }: EtcdSettings = {}): Promise<TestServer> {
  const peers = `http://127.0.0.1:${await freePort()}`;
  let made: TestCertificates | undefined;
  const server = await TestServer.prepare(
    ({ folder, address }) => {
      made ??= certificates?.(folder);
      const scheme = made === undefined ? "http" : "https";
      const tls =
        made === undefined
          ? []
          : ["--cert-file", made.cert, "--key-file", made.key, "--trusted-ca-file", made.ca, "--client-cert-auth"];
      return [...etcdCommand(folder, "test", `${scheme}://${address}`, peers, `test=${peers}`, options), ...tls];
    },
    async (each) => await etcdctl(each, ["endpoint", "health"], made).then(succeeded, failed),
  );
  return await server.start();
}

/** An etcd cluster of three servers. */
export async function startEtcdCluster(): Promise<TestServer[]> {
  const peers = await Promise.all(["a", "b", "c"].map(async (name) => ({ name, port: await freePort() })));
  const url = (port: number) => `http://127.0.0.1:${port}`;
  const cluster = peers.map(({ name, port }) => `${name}=${url(port)}`).join(",");
  const members = await Promise.all(
    peers.map(({ name, port }) =>
      TestServer.prepare(
        ({ folder, address }) => etcdCommand(folder, name, `http://${address}`, url(port), cluster),
        async (each) => await etcdctl(each, ["endpoint", "health"]).then(succeeded, failed),
      ),
    ),
  );
  return await Promise.all(members.map((member) => member.start()));
}

function etcdCommand(
  folder: string,
  name: string,
  clients: string,
  peers: string,
  cluster: string,
  options: Readonly<Record<string, string>> = {},
): string[] {
  const settings = {
    "data-dir": join(folder, "data"),
    name,
    "log-level": "error",
    "listen-client-urls": clients,
    "advertise-client-urls": clients,
    "listen-peer-urls": peers,
    "initial-advertise-peer-urls": peers,
    "initial-cluster": cluster,
    ...options,
  };
  return ["etcd", ...Object.entries(settings).flatMap(([option, value]) => [`--${option}`, value])];
}

/** Runs etcdctl against a server and returns its output. */
export async function etcdctl(server: TestServer, args: readonly string[], tls?: TestCertificates): Promise<string> {
  const scheme = tls === undefined ? "http" : "https";
  const secured = tls === undefined ? [] : ["--cacert", tls.ca, "--cert", tls.cert, "--key", tls.key];
  const { stdout } = await run("etcdctl", ["--endpoints", `${scheme}://${server.address}`, ...secured, ...args], {
    env: { ...process.env, ETCDCTL_API: "3" },
  });
  return stdout;
}

/** A Redis server; with `certificates` it accepts only TLS. */
export async function startRedis(
  options: { readonly password?: string; readonly certificates?: (folder: string) => TestCertificates } = {},
): Promise<TestServer> {
  const { password, certificates } = options;
  const server = await TestServer.prepare(({ folder, port }) => {
    const made = certificates?.(folder);
    const tls =
      made === undefined
        ? ["--port", String(port)]
        : ["--port", "0", "--tls-port", String(port), "--tls-cert-file", made.cert, "--tls-key-file", made.key];
    const authority = made === undefined ? [] : ["--tls-ca-cert-file", made.ca, "--tls-auth-clients", "optional"];
    const guard = password === undefined ? [] : ["--requirepass", password];
    const quiet = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", folder];
    return ["redis-server", ...tls, ...authority, ...guard, ...quiet];
  });
  return await server.start();
}

/** Runs redis-cli against a server and returns its output. */
export async function redisCli(server: TestServer, ...args: string[]): Promise<string> {
  const { stdout } = await run("redis-cli", ["-p", String(server.port), ...args]);
  return stdout.trim();
}

const succeeded = (): boolean => true;
const failed = (): boolean => false;
