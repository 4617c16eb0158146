// What one more worker costs in a registry that has so many: from publishing it until a subscriber knows it, and the CPU
// time of both and of the server. With real servers, as far as they are installed.
//
//   npx tsx benchmarks/scale/registries.mjs [--quick] [local] [lan] [etcd] [redis] [dns]
//
// For each size there is a process that publishes and follows; they take turns. The other entries belong to another
// process, so that renewing those is not taken for a part of a join. "bare" is the client of the registry by itself,
// without a discovery: what grows there, or in the server, is not the discovery's doing.
import { fork } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DnsDiscovery } from "../../src/discovery/dns/index.ts";
import { GrpcServer } from "../../src/grpc/index.ts";
import { encodeDescribeResponse } from "../../src/wire/index.ts";
import { follow, someWorker } from "../../test/support/follow.ts";
import { freePort } from "../../test/support/free-port.ts";
import { TestServer } from "../../test/support/registry-servers.ts";
import { until } from "../../test/support/until.ts";
import { median, pairedRatio, permutations } from "../harness/statistics.mjs";
import { kinds } from "./registry-kinds.mjs";

const quick = process.argv.includes("--quick");
const chosen = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const wants = (name) => chosen.length === 0 || chosen.includes(name);
const SIZES = quick ? [10, 200] : [10, 100, 1000];
/** Joins in a turn. */
const JOINS = 20;
const SITE = fileURLToPath(new URL("./registry-site.mjs", import.meta.url));
/** Growth that counts as none, for a hundred times as many entries. */
const FLAT = 1.25;

process.on("warning", () => undefined);
process.removeAllListeners("warning");

/** A process of `registry-site.mjs`. */
class Site {
  #child;
  #ready;

  constructor(kind, where) {
    this.#child = fork(SITE, [kind, where]);
    this.#ready = once(this.#child, "message");
  }

  get pid() {
    return this.#child.pid;
  }

  async ask(command, settings) {
    await this.#ready;
    this.#child.send({ command, settings });
    const [{ failure, result }] = await once(this.#child, "message");
    if (failure !== undefined) throw new Error(failure);
    return result;
  }

  async end() {
    const exited = once(this.#child, "exit");
    this.#child.disconnect();
    await exited;
  }
}

async function measure(kind) {
  const { start, openBare, together } = kinds[kind];
  const registry = await start();
  const keeper = new Site(kind, registry.where);
  const sites = new Map(SIZES.map((size) => [size, new Site(kind, registry.where)]));
  try {
    const server = registry.pid ?? keeper.pid;
    const ways = openBare === undefined ? [false] : [false, true];
    for (const [size, site] of sites) {
      const group = `scale-${size}`;
      await keeper.ask("keep", { group, size });
      for (const bare of ways) await site.ask("open", { group, size, bare });
    }
    // Kinds that wait for the network take long, so several joins are measured at a time.
    const slow = together !== undefined;
    const [warmUps, turns] = slow ? [1, quick ? 2 : 12] : quick ? [10, 12] : [60, 48];
    const one = (site, bare) => site.ask("join", { bare, count: JOINS, server });
    for (const site of sites.values()) for (const bare of ways) for (let i = 0; i < warmUps; i++) await one(site, bare);
    const orders = permutations(SIZES);
    for (const bare of ways) {
      const figures = new Map(SIZES.map((size) => [size, []]));
      for (let turn = 0; turn < turns; turn++) {
        for (const size of orders[turn % orders.length]) figures.get(size).push(await one(sites.get(size), bare));
      }
      const title = bare ? `${kind}, bare` : kind;
      printRow(`${title}: time`, figures, "time");
      printRow("  CPU of publisher and subscriber", figures, "client");
      if (registry.pid !== undefined) printRow("  CPU of the server", figures, "server");
    }
  } finally {
    for (const site of [...sites.values(), keeper]) await site.end();
    await registry.end();
  }
}

function printRow(title, figures, what) {
  const lists = SIZES.map((size) => figures.get(size).map((figure) => figure[what]));
  const { ratio, interval } = pairedRatio(lists.at(-1), lists[0]);
  const [low, high] = interval;
  const verdict = high <= FLAT ? "flat" : low > FLAT ? "grows" : "undecided";
  const cells = lists.map((list) => median(list).toFixed(0).padStart(8)).join("");
  const growth = `${ratio.toFixed(2)}x (${low.toFixed(2)} to ${high.toFixed(2)})`;
  console.log(`${title.padEnd(34)}${cells}  ${growth.padEnd(24)} ${verdict}`);
}

const measured = Object.keys(kinds).filter(wants);
if (measured.length > 0) {
  console.log(`one more worker, by workers in the registry: microseconds, medians; growth with its interval of 95 %`);
  console.log(`${"".padEnd(34)}${SIZES.map((size) => String(size).padStart(8)).join("")}`);
  for (const kind of measured) await measure(kind);
}
if (wants("dns")) await measureDns();

/** DNS returns all addresses each time: what a lookup costs for each of them, with workers that all answer. */
async function measureDns() {
  const port = await freePort();
  const servers = [];
  const most = SIZES.at(-1);
  const host = (i) => `127.7.${i >> 8}.${i & 255}`;
  for (let i = 0; i < most; i++) {
    const server = new GrpcServer();
    const about = { ...someWorker(`w-${i}`), tags: [], pid: i + 1 };
    server.addUnary("/wool.v1.Worker/Describe", () => encodeDescribeResponse(JSON.stringify(about)));
    await server.listen({ host: host(i), port });
    servers.push(server);
  }
  console.log("dns: microseconds of CPU for each worker, at first and when one more comes");
  for (const size of SIZES) {
    const dns = await TestServer.prepare(({ folder, port: own }) => {
      const records = Array.from({ length: size }, (_, i) => `host-record=workers.test,${host(i)}`);
      writeFileSync(join(folder, "dnsmasq.conf"), records.join("\n"));
      const quiet = ["--no-daemon", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=", "--local=/test/"];
      const served = ["--conf-file=dnsmasq.conf", "--local-ttl=1", `--port=${own}`, "--listen-address=127.0.0.1"];
      return ["dnsmasq", ...quiet, ...served, "--bind-interfaces"];
    });
    await dns.start();
    const discovery = new DnsDiscovery("workers.test", { port, servers: [dns.address] });
    let cpu = process.cpuUsage();
    const used = () => {
      const { user, system } = process.cpuUsage(cpu);
      return (user + system) / size;
    };
    const seen = follow(discovery);
    await until(() => seen.workers.size === size, `${size} workers are found`);
    const first = used();
    cpu = process.cpuUsage();
    // Two more looks: nothing has changed.
    await new Promise((resolve) => setTimeout(resolve, 2200));
    console.log(
      `${String(size).padStart(7)} workers: ${first.toFixed(0)} at first, ${(used() / 2).toFixed(1)} for each look`,
    );
    await seen[Symbol.asyncDispose]();
    await dns[Symbol.asyncDispose]();
  }
  await Promise.all(servers.map((server) => server.close()));
}
process.exit(0);
