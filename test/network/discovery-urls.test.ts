import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { currentTask, routine, WorkerPool, WorkerProxy } from "wool-ts";
import { startWorkers, wool } from "../support/cli.ts";
import { freePort } from "../support/free-port.ts";
import { expectNothingLeft } from "../support/nothing-left.ts";
import { startEtcd, startRedis, TestServer } from "../support/registry-servers.ts";
import { runProgram } from "../support/run-program.ts";
import { missingFor } from "../support/servers.ts";

expectNothingLeft();

const missing = missingFor("etcd", "redis-server", "dnsmasq");

const where = routine(async () => currentTask()?.worker);
const nested = routine(async () => [currentTask()?.worker, await where()]);

describe.skipIf(missing !== undefined)("a discovery URL means the same to workers, pools, proxies and commands", () => {
  let etcd: TestServer;
  let redis: TestServer;
  let dns: TestServer;
  /** Where workers listen that no registry tells of. */
  const ports = { static: 0, dns: 0, srv: 0, lan: 0 };

  beforeAll(async () => {
    for (const name of ["static", "dns", "srv", "lan"] as const) ports[name] = await freePort();
    const records = [
      "host-record=workers.test,127.0.0.1",
      `srv-host=_wool._tcp.services.test,workers.test,${ports.srv}`,
    ];
    dns = await TestServer.prepare(({ folder, port }) => {
      writeFileSync(join(folder, "dnsmasq.conf"), records.join("\n"));
      const quiet = ["--no-daemon", "--no-resolv", "--no-hosts", "--user=root", "--pid-file=", "--local=/test/"];
      const served = ["--conf-file=dnsmasq.conf", `--port=${port}`, "--listen-address=127.0.0.1", "--bind-interfaces"];
      return ["dnsmasq", ...quiet, ...served];
    });
    [etcd, redis] = await Promise.all([startEtcd(), startRedis(), dns.start()]);
  }, 60_000);
  afterAll(async () => {
    for (const server of [etcd, redis, dns]) await server?.[Symbol.asyncDispose]();
  });

  const host = ["--host", "127.0.0.1"];
  test.each<[string, () => string, () => string[]]>([
    ["local:", () => "local:urls", () => []],
    ["static:", () => `static:127.0.0.1:${ports.static}`, () => [...host, "--port", String(ports.static)]],
    ["lan:", () => `lan:urls?interface=lo&port=${ports.lan}`, () => host],
    [
      "dns: with a port",
      () => `dns:workers.test:${ports.dns}?server=${dns.address}`,
      () => [...host, "--port", String(ports.dns)],
    ],
    ["dns:", () => `dns:services.test?server=${dns.address}`, () => [...host, "--port", String(ports.srv)]],
    ["etcd:", () => `etcd://${etcd.address}/urls`, () => host],
    ["redis:", () => `redis://${redis.address}/urls`, () => host],
  ])(
    "%s",
    async (_name, url, options) => {
      await using command = await startWorkers(["--discovery", url(), ...options()]);
      const uid = command.workers()[0]?.uid;
      {
        await using pool = await WorkerPool.start({ discovery: url() });
        expect(await pool.dispatch(nested)).toEqual([uid, uid]);
        await using proxy = new WorkerProxy({ poolUri: pool.uri });
        expect(await proxy.dispatch(nested)).toEqual([uid, uid]);
        await using hybrid = await WorkerPool.start({
          discovery: url(),
          size: 1,
          workerOptions: { host: "127.0.0.1" },
          quorum: 2,
        });
        expect(hybrid.workers.has(uid ?? "")).toBe(true);
        expect(hybrid.workers.size).toBe(2);
      }
      const listed = await wool("ps", "--discovery", url(), "--json");
      expect(JSON.parse(listed.stdout)).toMatchObject([{ uid, responds: true }]);
      const stopped = await wool("stop", "--all", "--discovery", url());
      expect(stopped).toMatchObject({ code: 0, stdout: `${uid} has stopped\n` });
      expect((await command.program.ended).code).toBe(0);
    },
    90_000,
  );

  test.each<[string, () => string]>([
    ["local:", () => "local:alone"],
    ["lan:", () => `lan:alone?interface=lo&port=${ports.lan}`],
    ["etcd:", () => `etcd://${etcd.address}/alone`],
    ["redis:", () => `redis://${redis.address}/alone`],
  ])("%s a program that waits for it goes on until then, and no longer", async (_name, url) => {
    const { code, stdout } = await runProgram("network/publish.mjs", { args: [url()] });
    const announced = ["worker-added", "worker-updated", "worker-dropped", "worker-added"];
    expect(stdout.trim().split("\n")).toEqual([...announced, "disposed"]);
    expect(code).toBe(0);
  });
});
