import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fixture } from "./run-program.ts";
import { makeRuntimeFolder, type RuntimeFolder } from "./runtime-folder.ts";

const PREFIX = "wool-net-";
const NAMESPACES = "/run/netns";
/** For programs of a namespace, the files here replace those in `/etc`. */
const SETTINGS = "/etc/netns";

/** How a network of hosts is made. */
export interface NetworkOptions {
  /** The networks that each host is in, such as `[["a"], ["a", "b"]]`: a host has an interface `net-a` for network a. */
  readonly hosts: readonly (readonly string[])[];
  /** Only link-local IPv6 addresses, no IPv4. */
  readonly isIpv6Only?: boolean;
}

/**
 * Separate machines as far as the network is concerned: a network namespace for each host and one for the switches
 * between them. There is no default route, and the network of this machine is not touched.
 */
export class Network implements AsyncDisposable {
  readonly hosts: Host[] = [];
  readonly #id = `${PREFIX}${process.pid}-${nextNetwork++}`;
  readonly #switch = `${this.#id}-s`;

  constructor({ hosts, isIpv6Only = false }: NetworkOptions) {
    removeAbandoned();
    ip("netns", "add", this.#switch);
    const networks = [...new Set(hosts.flat())];
    for (const network of networks) {
      ip("-n", this.#switch, "link", "add", `br-${network}`, "type", "bridge");
      ip("-n", this.#switch, "link", "set", `br-${network}`, "up");
    }
    for (const [index, own] of hosts.entries()) {
      const namespace = `${this.#id}-${index}`;
      ip("netns", "add", namespace);
      ip("-n", namespace, "link", "set", "lo", "up");
      const addresses: Record<string, string> = {};
      for (const network of own) {
        const port = `h${index}-${network}`;
        ip(
          "-n",
          this.#switch,
          "link",
          "add",
          port,
          "type",
          "veth",
          "peer",
          "name",
          `net-${network}`,
          "netns",
          namespace,
        );
        ip("-n", this.#switch, "link", "set", port, "master", `br-${network}`, "up");
        // Skips the check that nobody else has the address.
        ip("netns", "exec", namespace, "sysctl", "-qw", `net.ipv6.conf.net-${network}.accept_dad=0`);
        const address = `10.77.${networks.indexOf(network)}.${index + 1}`;
        if (!isIpv6Only) ip("-n", namespace, "addr", "add", `${address}/24`, "dev", `net-${network}`);
        ip("-n", namespace, "link", "set", `net-${network}`, "up");
        addresses[network] = address;
      }
      this.hosts.push(new Host(namespace, addresses));
    }
  }

  /** Blocks all packets between a host and a network, while the interface stays up; or lets them pass again. */
  setForwarding(host: number, network: string, state: "on" | "off"): void {
    const port = `h${host}-${network}`;
    execFileSync("bridge", ["-n", this.#switch, "link", "set", "dev", port, "state", state === "on" ? "3" : "0"]);
  }

  /** Disconnects the cable of a host, or connects it again. */
  setCable(host: number, network: string, state: "up" | "down"): void {
    ip("-n", this.#switch, "link", "set", `h${host}-${network}`, state);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.hosts.map((host) => host.stop()));
    for (const name of readdirSync(NAMESPACES)) if (name.startsWith(`${this.#id}-`)) ip("netns", "del", name);
  }
}

let nextNetwork = 0;

/** A host of a network. */
export class Host {
  readonly namespace: string;
  /** Its IPv4 address in each network. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly #folder: RuntimeFolder = makeRuntimeFolder();
  readonly #children: ChildProcess[] = [];

  constructor(namespace: string, addresses: Readonly<Record<string, string>>) {
    this.namespace = namespace;
    this.addresses = addresses;
  }

  /** Its address in the first network. */
  get address(): string {
    return Object.values(this.addresses)[0] ?? "";
  }

  /** Sets the name server of its programs, and the domains for names without a dot. */
  useNameServer(address: string, ...search: string[]): void {
    const folder = join(SETTINGS, this.namespace);
    mkdirSync(folder, { recursive: true });
    const domains = search.length === 0 ? "" : `search ${search.join(" ")}\noptions ndots:5\n`;
    writeFileSync(join(folder, "resolv.conf"), `nameserver ${address}\n${domains}`);
  }

  /** Blocks new TCP connections from there to others. It still serves those of others, on ports below 32768. */
  forbidConnecting(): void {
    ip("-n", this.namespace, "rule", "add", "ipproto", "tcp", "sport", "32768-60999", "unreachable");
  }

  /** Starts a program there. It is killed when the network is removed. */
  spawn(
    command: string,
    args: readonly string[],
    { env = {}, cwd }: { readonly env?: Readonly<Record<string, string>>; readonly cwd?: string } = {},
  ): ChildProcess {
    const child = spawn("ip", ["netns", "exec", this.namespace, command, ...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...process.env, ...this.#folder.env, ...env },
      detached: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#children.push(child);
    return child;
  }

  /** Runs a program there to its end and returns what it printed. */
  async run(command: string, ...args: string[]): Promise<string> {
    const child = this.spawn(command, args);
    let output = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
    await new Promise((resolve) => child.on("close", resolve));
    return output;
  }

  /** Starts a program there that takes commands. */
  agent(): Agent {
    return new Agent(this.spawn(process.execPath, [fixture("network/agent.mjs")]));
  }

  async stop(): Promise<void> {
    for (const child of this.#children) {
      if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) continue;
      const closed = new Promise((resolve) => child.on("close", resolve));
      process.kill(-child.pid, "SIGKILL");
      await closed;
    }
    this.#folder[Symbol.dispose]();
    rmSync(join(SETTINGS, this.namespace), { recursive: true, force: true });
  }
}

/** A message of an agent: the result of a command, or an event of a subscription. */
type Word =
  | { readonly id: number; readonly value?: unknown; readonly error?: string }
  | { readonly url: string; readonly event: string; readonly worker: AgentWorker };

/** A worker as an agent reports it. */
export interface AgentWorker {
  readonly uid: string;
  readonly address: string;
  readonly tags: readonly string[];
}

/** A program on a host that takes commands. */
export class Agent {
  readonly child: ChildProcess;
  /** The workers that its subscriptions know, by URL and then by uid. */
  readonly known = new Map<string, Map<string, AgentWorker>>();
  readonly events: string[] = [];
  stderr = "";
  readonly #pending = new Map<number, (word: { readonly value?: unknown; readonly error?: string }) => void>();
  #lastId = 0;

  constructor(child: ChildProcess) {
    this.child = child;
    if (child.stdout === null) throw new Error("the agent has no output");
    createInterface({ input: child.stdout }).on("line", (line) => this.#hear(JSON.parse(line) as Word));
    child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    child.on("close", () => {
      for (const settle of this.#pending.values()) settle({ error: `the agent has ended: ${this.stderr}` });
    });
  }

  /** Has the agent run a command and returns the result. */
  async do(command: string, ...args: readonly unknown[]): Promise<unknown> {
    const id = ++this.#lastId;
    const outcome = new Promise<{ readonly value?: unknown; readonly error?: string }>((resolve) => {
      this.#pending.set(id, resolve);
    });
    this.child.stdin?.write(`${JSON.stringify({ id, command, args })}\n`);
    const { value, error } = await outcome;
    this.#pending.delete(id);
    if (error !== undefined) throw new Error(error);
    return value;
  }

  /** The uids that its subscription to a discovery knows. */
  uids(url: string): string[] {
    return [...(this.known.get(url)?.keys() ?? [])].sort();
  }

  /** Kills it, so that it cannot tell others. */
  async kill(): Promise<void> {
    if (this.child.pid === undefined) return;
    const closed = new Promise((resolve) => this.child.on("close", resolve));
    process.kill(-this.child.pid, "SIGKILL");
    await closed;
  }

  #hear(word: Word): void {
    if ("id" in word) {
      this.#pending.get(word.id)?.(word);
      return;
    }
    const { url, event, worker } = word;
    this.events.push(`${event} ${worker.uid}`);
    const known = this.known.get(url) ?? new Map<string, AgentWorker>();
    this.known.set(url, known);
    if (event === "dropped") known.delete(worker.uid);
    else known.set(worker.uid, worker);
  }
}

function ip(...args: string[]): void {
  execFileSync("ip", args, { stdio: "pipe" });
}

/** Namespaces of killed runs. */
function removeAbandoned(): void {
  if (!existsSync(NAMESPACES)) return;
  for (const name of readdirSync(NAMESPACES)) {
    const pid = name.startsWith(PREFIX) ? /^\d+/.exec(name.slice(PREFIX.length))?.[0] : undefined;
    if (pid === undefined || existsSync(`/proc/${pid}`)) continue;
    try {
      ip("netns", "del", name);
    } catch (error) {
      // Another file of tests may have been faster.
      if (existsSync(`${NAMESPACES}/${name}`)) throw error;
    }
  }
}
