import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { InvalidArgument, LocalWorker, NoWorkersAvailable, openDiscovery, routine, WorkerPool } from "wool-ts";
import { DnsDiscovery } from "wool-ts/dns";
import { TestAuthority } from "../support/certificates.ts";
import { follow } from "../support/follow.ts";
import { freePort } from "../support/free-port.ts";
import { reasonOf } from "../support/reason-of.ts";
import { TestServer } from "../support/registry-servers.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("dnsmasq");

/** A name server with these records, each a line of dnsmasq's settings, which hold for a second. */
async function startDns(...records: string[]): Promise<TestServer> {
  const server = await TestServer.prepare(({ folder, port }) => {
    const file = join(folder, "dnsmasq.conf");
    if (!existsSync(file)) writeFileSync(file, records.join("\n"));
    const quiet = ["--no-daemon", "--no-resolv", "--no-hosts", "--user=root", "--pid-file="];
    const served = ["--conf-file=dnsmasq.conf", "--local=/test/", "--auth-ttl=1", "--local-ttl=1", "--neg-ttl=1"];
    return ["dnsmasq", ...quiet, ...served, `--port=${port}`, "--listen-address=127.0.0.1", "--bind-interfaces"];
  });
  return await server.start();
}

describe.skipIf(missing !== undefined)("DNS discovery", () => {
  let workers: LocalWorker[] = [];
  let warnings: string[] = [];
  const pid = routine(async () => process.pid);

  beforeEach(() => {
    warnings = [];
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => {
      // Workers of these tests listen on loopback, which they warn of.
      if (!String(warning).includes("without credentials")) warnings.push(String(warning));
    });
    return () => vi.restoreAllMocks();
  });
  afterEach(async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    workers = [];
  });

  async function startWorker(host = "127.0.0.1", port?: number): Promise<{ uid: string; port: number }> {
    const worker = new LocalWorker({ host, ...(port === undefined ? {} : { port }), tags: ["pod"] });
    workers.push(worker);
    await worker.start();
    return { uid: worker.uid, port: Number(worker.address?.split(":").at(-1)) };
  }

  test("finds what SRV records lead to, asks each worker who it is, and follows changes", async () => {
    const [one, two] = [await startWorker(), await startWorker()];
    const hosts = ["host-record=one.test,127.0.0.1", "host-record=two.test,127.0.0.1"];
    const srv = (name: string, port: number) => `srv-host=_wool._tcp.workers.test,${name}.test,${port}`;
    await using dns = await startDns(...hosts, srv("one", one.port));
    const discovery = (await openDiscovery(`dns:workers.test?server=${dns.address}`)) as DnsDiscovery;
    expect(discovery.name).toBe("_wool._tcp.workers.test");
    await using seen = follow(discovery);
    await until(() => seen.workers.size === 1, "the first is found");
    expect(seen.workers.get(one.uid)).toMatchObject({ address: `127.0.0.1:${one.port}`, tags: new Set(["pod"]) });
    await dns.kill();
    await using changed = await restart(dns, ...hosts, srv("two", two.port));
    await until(() => seen.workers.has(two.uid) && !seen.workers.has(one.uid), "the change is seen");
    expect(changed.port).toBe(dns.port);
  });

  test("finds the addresses of a name with a port, also through an alias", async () => {
    // Two hosts of this machine with the same port.
    const first = await startWorker("127.0.0.1");
    const second = await startWorker("127.0.0.2", first.port);
    await using dns = await startDns(
      "host-record=pods.test,127.0.0.1",
      "host-record=pods.test,127.0.0.2",
      "cname=alias.test,pods.test",
    );
    for (const name of ["pods.test", "alias.test"]) {
      await using pool = await WorkerPool.start({
        discovery: `dns:${name}:${first.port}?server=${dns.address}`,
        quorum: 2,
      });
      expect([...pool.workers.keys()].sort()).toEqual([first.uid, second.uid].sort());
      expect(await pool.dispatch(pid)).toBeGreaterThan(0);
    }
  });

  test("asks workers with TLS, or without, as it was told", async () => {
    const authority = new TestAuthority();
    const credentials = authority.client();
    const secured = new LocalWorker({ host: "127.0.0.1", credentials: authority.worker() });
    workers.push(secured);
    await secured.start();
    const [port, plain] = [Number(secured.address?.split(":").at(-1)), await startWorker()];
    await using dns = await startDns("host-record=pods.test,127.0.0.1");
    const servers = [dns.address];
    await using withTls = follow(new DnsDiscovery("pods.test", { servers, port, credentials }));
    await until(() => withTls.workers.get(secured.uid)?.secure === true, "the one with TLS is found");
    await using without = follow(
      new DnsDiscovery("pods.test", { servers, port: plain.port, credentials, secure: false }),
    );
    await until(() => without.workers.get(plain.uid)?.secure === false, "the one without is found");
  });

  test("looks again between minInterval and maxInterval, whatever the records say", async () => {
    const [one, two] = [await startWorker(), await startWorker()];
    const records = (port: number) => [
      "host-record=one.test,127.0.0.1",
      `srv-host=_wool._tcp.workers.test,one.test,${port}`,
    ];
    await using dns = await startDns(...records(one.port));
    const servers = [dns.address];
    await using often = follow(new DnsDiscovery("workers.test", { servers, minInterval: 10, maxInterval: 20 }));
    await using seldom = follow(
      new DnsDiscovery("workers.test", { servers, minInterval: 600_000, maxInterval: 600_000 }),
    );
    await until(() => often.workers.has(one.uid) && seldom.workers.has(one.uid), "the first is found");
    await dns.kill();
    await using changed = await restart(dns, ...records(two.port));
    await until(() => often.workers.has(two.uid), "one has looked again");
    expect([[...seldom.workers.keys()], changed.port]).toEqual([[one.uid], dns.port]);
  });

  test("asks again by TCP when an answer is too long for UDP", async () => {
    const worker = await startWorker();
    const many = Array.from({ length: 60 }, (_, i) => `srv-host=_wool._tcp.many.test,host-${i}.test,${worker.port}`);
    const hosts = Array.from({ length: 60 }, (_, i) => `host-record=host-${i}.test,127.0.0.1`);
    await using dns = await startDns(...many, ...hosts);
    await using seen = follow(new DnsDiscovery("many.test", { servers: [dns.address] }));
    await until(() => seen.workers.size === 1, "all lead to the one worker");
  });

  test("drops all workers when the name has none, and says so where they are waited for", async () => {
    await using dns = await startDns("host-record=other.test,127.0.0.1");
    const url = `dns:nobody.test:9000?server=${dns.address}`;
    const error = await reasonOf(WorkerPool.start({ discovery: url, quorumTimeout: 2000 }));
    expect(error).toBeInstanceOf(NoWorkersAvailable);
    expect(error).toMatchObject({ message: expect.stringContaining("nobody.test has no records") });
    expect(warnings).toEqual([]);
  });

  test("keeps the workers it knew while the name server is down, says so once, and recovers", async () => {
    const [one, two] = [await startWorker(), await startWorker()];
    const records = (port: number) => [
      "host-record=one.test,127.0.0.1",
      `srv-host=_wool._tcp.workers.test,one.test,${port}`,
    ];
    await using dns = await startDns(...records(one.port));
    const discovery = new DnsDiscovery("workers.test", { servers: [dns.address], timeout: 300 });
    await using seen = follow(discovery);
    await until(() => seen.workers.has(one.uid), "it is found");
    await dns.kill();
    await until(() => warnings.length > 0, "it is noticed");
    expect(warnings[0]).toContain(`the name server ${dns.address} does not answer`);
    expect([...seen.workers.keys()]).toEqual([one.uid]);
    await using back = await restart(dns, ...records(two.port));
    await until(() => seen.workers.has(two.uid), "it is up to date again");
    expect([warnings.length, discovery.problem, back.port]).toEqual([1, undefined, dns.port]);
  });

  test("names the name server that does not answer, after a bounded wait", async () => {
    const url = `dns:workers.test?server=127.0.0.1:${await freePort()}&timeout=100`;
    const error = await reasonOf(WorkerPool.start({ discovery: url, quorumTimeout: 1000 }));
    expect(error).toMatchObject({
      message: expect.stringMatching(
        /workers\.test cannot be looked up: the name server 127\.0\.0\.1:\d+ does not answer/,
      ),
    });
  });

  test("refuses what makes no sense", () => {
    expect(() => new DnsDiscovery("")).toThrow(InvalidArgument);
    expect(() => new DnsDiscovery("127.0.0.1")).toThrow("for addresses use a StaticDiscovery");
    expect(() => new DnsDiscovery("a b")).toThrow("is not a valid DNS name");
    expect(() => new DnsDiscovery("a", { servers: ["dns.example"] })).toThrow('the name server "dns.example"');
    expect(() => new DnsDiscovery("a", { minInterval: 50_000 })).toThrow("is longer than maxInterval");
  });

  /** The same server with other records. */
  async function restart(server: TestServer, ...records: string[]): Promise<TestServer> {
    writeFileSync(join(server.folder, "dnsmasq.conf"), records.join("\n"));
    return await server.start();
  }
});
