import type { ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Host, Network } from "../support/hosts.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("network namespaces", "avahi-daemon");
const URL = "lan:render";

/** avahi on a host of its own, with a message bus of its own. */
class Avahi {
  readonly #host: Host;
  readonly #folder = mkdtempSync(join(tmpdir(), "wool-avahi-"));
  readonly #env = { DBUS_SYSTEM_BUS_ADDRESS: `unix:path=${this.#folder}/bus` };
  #log = "";

  constructor(host: Host) {
    this.#host = host;
  }

  async start(): Promise<void> {
    const bus = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
      "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
      <busconfig><type>system</type><listen>unix:path=${this.#folder}/bus</listen><auth>EXTERNAL</auth>
      <policy context="default"><allow own="*"/><allow send_type="*"/><allow send_destination="*"/><allow receive_type="*"/><allow receive_sender="*"/><allow user="*"/></policy></busconfig>`;
    writeFileSync(join(this.#folder, "bus.conf"), bus);
    writeFileSync(
      join(this.#folder, "avahi.conf"),
      "[server]\nhost-name=printer\nuse-ipv4=yes\nuse-ipv6=yes\n[rlimits]\n",
    );
    this.#host.spawn("dbus-daemon", ["--nofork", `--config-file=${this.#folder}/bus.conf`], { env: this.#env });
    // Its own files are in a place that all hosts share, so it sees one that is empty there.
    const start = `mount -t tmpfs none /run/avahi-daemon 2>/dev/null || { mkdir -p /run/avahi-daemon; mount -t tmpfs none /run/avahi-daemon; }
      until [ -S ${this.#folder}/bus ]; do :; done
      exec avahi-daemon --no-drop-root --no-chroot --no-rlimits -f ${this.#folder}/avahi.conf`;
    const daemon = this.#host.spawn("unshare", ["-m", "sh", "-c", start], { env: this.#env });
    daemon.stderr?.setEncoding("utf8").on("data", (text: string) => (this.#log += text));
    await until(() => this.#log.includes("Server startup complete"), `avahi runs: ${this.#log}`);
  }

  /** Runs one of avahi's programs; what it prints is added to the output. */
  run(program: string, ...args: string[]): { readonly child: ChildProcess; readonly output: () => string } {
    const child = this.#host.spawn(program, args, { env: this.#env });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    return { child, output: () => output };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

describe.skipIf(missing !== undefined)("LAN discovery and avahi", () => {
  let network: Network;
  let avahi: Avahi;

  beforeEach(async () => {
    network = new Network({ hosts: [["a"], ["a"]] });
    const [, host] = network.hosts;
    if (host === undefined) throw new Error("no host");
    avahi = new Avahi(host);
    await avahi.start();
  });
  afterEach(async () => {
    await network[Symbol.asyncDispose]();
    avahi.remove();
  });

  test("avahi browses, resolves and loses our workers", async () => {
    const [host] = network.hosts;
    const agent = host?.agent();
    const worker = { uid: "w-1", address: "0.0.0.0:7001", pid: 4, version: "1", tags: ["gpu"], extra: {} };
    const published = { ...worker, secure: false, channel: {} };
    await agent?.do("publish", URL, "worker-added", published);
    const browser = avahi.run("avahi-browse", "-r", "-p", "-k", "_wool._tcp");
    // =;interface;protocol;name;type;domain;host;address;port;text
    await until(() => /^=;net-a;IPv4;w-1;/m.test(browser.output()), "avahi resolves the worker");
    const line = browser.output().match(/^=;net-a;IPv4;w-1;.*$/m)?.[0] ?? "";
    expect(line).toContain(`;${host?.address};7001;`);
    expect(line).toContain('"uid=w-1"');
    expect(line).toContain('"ns=render"');
    await agent?.do("publish", URL, "worker-updated", { ...published, tags: ["cpu"] });
    const again = avahi.run("avahi-browse", "-r", "-p", "-k", "-t", "_wool._tcp");
    await until(() => again.output().includes("cpu"), "avahi knows the new text");
    await agent?.do("publish", URL, "worker-dropped", published);
    await until(() => /^-;net-a;IPv4;w-1;/m.test(browser.output()), "avahi hears the goodbye");
  });

  test("avahi lists our type among those there are", async () => {
    const [host] = network.hosts;
    const worker = { uid: "w-1", address: "0.0.0.0:7001", pid: 4, version: "1", tags: [], extra: {} };
    await host?.agent().do("publish", URL, "worker-added", { ...worker, secure: false, channel: {} });
    const browser = avahi.run("avahi-browse", "-a", "-p", "-k");
    await until(() => /^\+;net-a;IPv4;w-1;_wool\._tcp;/m.test(browser.output()), "avahi finds the type");
  });

  test("what avahi advertises is found, followed and lost", async () => {
    const [one, two] = network.hosts;
    const subscriber = one?.agent();
    await subscriber?.do("subscribe", URL);
    const text = ["txtvers=1", "ns=render", "uid=w-9", "version=1", "pid=7", 'tags=["big"]'];
    const { child } = avahi.run("avahi-publish", "-s", "a worker of another make", "_wool._tcp", "9000", ...text);
    await until(() => subscriber?.uids(URL).length === 1, "it is found");
    expect(subscriber?.known.get(URL)?.get("w-9")).toEqual({
      uid: "w-9",
      address: `${two?.address}:9000`,
      tags: ["big"],
    });
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await until(() => subscriber?.uids(URL).length === 0, "its goodbye is heard");
  });

  test("avahi's name is respected", async () => {
    const text = ["txtvers=1", "ns=render", "uid=w-1"];
    const publisher = avahi.run("avahi-publish", "-s", "w-1", "_wool._tcp", "9000", ...text);
    await until(() => publisher.output().includes("Established"), "avahi has the name");
    const [one] = network.hosts;
    const worker = { uid: "w-1", address: "0.0.0.0:7001", pid: 4, version: "1", tags: [], extra: {} };
    await one?.agent().do("publish", URL, "worker-added", { ...worker, secure: false, channel: {} });
    const browser = avahi.run("avahi-browse", "-p", "-k", "_wool._tcp");
    await until(() => /;w-1-2;/.test(browser.output()), "ours has another one");
    expect(publisher.output()).not.toContain("collision");
  });

  test("both work on one host", async () => {
    const [one, two] = network.hosts;
    const [here, there] = [one?.agent(), two?.agent()];
    const worker = { address: "0.0.0.0:7001", pid: 4, version: "1", tags: [], extra: {}, secure: false, channel: {} };
    for (const agent of [here, there]) await agent?.do("subscribe", URL);
    // The second one is announced on the host of avahi, which has the port, too.
    await here?.do("publish", URL, "worker-added", { ...worker, uid: "w-1" });
    await there?.do("publish", URL, "worker-added", { ...worker, uid: "w-2" });
    for (const agent of [here, there]) await until(() => agent?.uids(URL).length === 2, "both find both");
    const browser = avahi.run("avahi-browse", "-p", "-k", "_wool._tcp");
    for (const uid of ["w-1", "w-2"]) {
      await until(() => new RegExp(`^\\+;net-a;IPv4;${uid};`, "m").test(browser.output()), `avahi finds ${uid}`);
    }
    await there?.do("publish", URL, "worker-dropped", { ...worker, uid: "w-2" });
    await until(() => here?.uids(URL).length === 1, "the goodbye is heard");
  });
});
