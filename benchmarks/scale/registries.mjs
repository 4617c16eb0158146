// What one more worker costs in a registry that has so many: from publishing it until a subscriber knows it, and the CPU
// time of both, which are in this process. With real servers, as far as they are installed.
//
//   npx tsx benchmarks/scale/registries.mjs [--quick] [local] [lan] [etcd] [redis] [dns]
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DnsDiscovery } from "../../src/discovery/dns/index.ts";
import { EtcdDiscovery } from "../../src/discovery/etcd/index.ts";
import { LanDiscovery, LocalDiscovery } from "../../src/discovery/index.ts";
import { RedisDiscovery } from "../../src/discovery/redis/index.ts";
import { GrpcServer } from "../../src/grpc/index.ts";
import { encodeDescribeResponse } from "../../src/wire/index.ts";
import { follow, someWorker } from "../../test/support/follow.ts";
import { freePort } from "../../test/support/free-port.ts";
import { startEtcd, startRedis, TestServer } from "../../test/support/registry-servers.ts";
import { until } from "../../test/support/until.ts";
import { formatTable, growthOf } from "./growth.mjs";

const quick = process.argv.includes("--quick");
const chosen = process.argv.slice(2).filter((arg) => !arg.startsWith("--"));
const wants = (name) => chosen.length === 0 || chosen.includes(name);
const SIZES = quick ? [10, 200] : [10, 100, 1000];
const JOINS = quick ? 5 : 30;

process.on("warning", () => undefined);
process.removeAllListeners("warning");

const address = (i) => `10.1.${i >> 8}.${i & 255}:7001`;
const worker = (i) => ({ ...someWorker(`w-${i}`, address(i)), pid: process.pid });
const rows = { latency: [], cpu: [] };

/** Publishes workers until there are so many, and then measures some more; `open` makes a discovery. */
async function measure(name, sizes, open) {
  const [publisher, subscriber] = [open(), open()];
  const seen = follow(subscriber);
  let count = 0;
  const figures = { latency: [], cpu: [] };
  for (const size of sizes) {
    await Promise.all(
      Array.from({ length: size - count }, (_, i) => publisher.publisher.publish("worker-added", worker(count + i))),
    );
    count = size;
    await until(() => seen.workers.size === count, `${count} workers are found`);
    const latencies = [];
    const cpu = process.cpuUsage();
    for (let i = 0; i < JOINS; i++) {
      const from = performance.now();
      await publisher.publisher.publish("worker-added", worker(count + i));
      while (!seen.workers.has(`w-${count + i}`)) await new Promise((resolve) => setTimeout(resolve, 1));
      latencies.push((performance.now() - from) * 1000);
    }
    const { user, system } = process.cpuUsage(cpu);
    count += JOINS;
    figures.cpu.push((user + system) / JOINS);
    figures.latency.push(latencies.sort((a, b) => a - b)[JOINS >> 1]);
  }
  await seen[Symbol.asyncDispose]();
  await Promise.all([publisher.dispose(), subscriber.dispose()]);
  for (const kind of ["latency", "cpu"]) {
    rows[kind].push({ name, sizes, figures: figures[kind], growth: growthOf(figures[kind]) });
  }
}

if (wants("local")) {
  const directory = mkdtempSync(join(tmpdir(), "wool-scale-"));
  await measure("local", SIZES, () => new LocalDiscovery("scale", { directory }));
  rmSync(directory, { recursive: true, force: true });
}
if (wants("etcd")) {
  const server = await startEtcd();
  await measure("etcd", SIZES, () => new EtcdDiscovery({ endpoints: [server.address], prefix: "scale" }));
  await server[Symbol.asyncDispose]();
}
if (wants("redis")) {
  const server = await startRedis();
  await measure("redis", SIZES, () => new RedisDiscovery({ address: server.address, prefix: "scale" }));
  await server[Symbol.asyncDispose]();
}
if (wants("lan")) {
  const port = await freePort();
  await measure("lan", SIZES, () => new LanDiscovery("scale", { interfaces: ["lo"], port }));
}
for (const [kind, title] of [
  ["latency", "microseconds until a subscriber knows one more worker, by workers in the registry"],
  ["cpu", "CPU microseconds of publisher and subscriber for it"],
]) {
  if (rows[kind].length > 0) console.log(formatTable(title, rows[kind]));
}
if (wants("dns")) await measureDns();

/** DNS tells all addresses each time: what a look costs for each of them, with workers that all answer. */
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
