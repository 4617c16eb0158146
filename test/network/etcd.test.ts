import { readFileSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DiscoveryError, LocalWorker, NoWorkersAvailable, openDiscovery, routine, WorkerPool } from "wool-ts";
import { EtcdDiscovery, type EtcdDiscoveryOptions } from "wool-ts/etcd";
import { follow, someWorker } from "../support/follow.ts";
import { freePort } from "../support/free-port.ts";
import { reasonOf } from "../support/reason-of.ts";
import {
  etcdctl,
  makeCertificates,
  startEtcd,
  startEtcdCluster,
  type TestCertificates,
  type TestServer,
} from "../support/registry-servers.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("etcd", "openssl");

describe.skipIf(missing !== undefined)("etcd discovery", () => {
  let server: TestServer;
  let prefix = "";
  let warnings: string[] = [];

  beforeAll(async () => {
    server = await startEtcd();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(({ task }) => {
    prefix = `test/${task.id}`;
    warnings = [];
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
    return () => vi.restoreAllMocks();
  });

  const open = (options: EtcdDiscoveryOptions = {}) =>
    new EtcdDiscovery({ endpoints: [server.address], prefix, connectTimeout: 20_000, ...options });
  const keys = async () =>
    (await etcdctl(server, ["get", "--prefix", `${prefix}/`, "--keys-only"])).split(/\n+/).filter(Boolean);

  test("tells of workers that come, change and go, and a late subscriber of those that exist", async () => {
    await using publisher = open();
    await using early = follow(open());
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await publisher.publisher.publish("worker-added", someWorker("b/ü"));
    await until(() => early.workers.size === 2, "both are found");
    await using late = follow(open());
    await until(() => late.workers.size === 2, "the late subscriber has both");
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "gpu"));
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "gpu"));
    await publisher.publisher.publish("worker-dropped", someWorker("b/ü"));
    await until(() => early.workers.size === 1 && late.workers.size === 1, "one is gone");
    expect(early.events).toEqual(["added a", "added b/ü", "updated a", "dropped b/ü"]);
    expect(early.workers.get("a")).toEqual(someWorker("a", "10.0.0.1:7001", "gpu"));
  });

  test("keeps prefixes apart, also where one begins like another", async () => {
    await using one = open({ prefix: `${prefix}/one` });
    await using two = open({ prefix: `${prefix}/one-more` });
    await one.publisher.publish("worker-added", someWorker("a"));
    await two.publisher.publish("worker-added", someWorker("b"));
    await using seenOne = follow(one);
    await using seenTwo = follow(two);
    await until(() => seenOne.workers.size === 1 && seenTwo.workers.size === 1, "each has its own");
    expect([...seenOne.workers.keys(), ...seenTwo.workers.keys()]).toEqual(["a", "b"]);
  });

  test.each([0, 0.4, 1e6, 2 ** 31 + 0.5, 1e300, Number.POSITIVE_INFINITY])(
    "takes %d ms for its times, or the next that etcd has",
    async (ms) => {
      await using publisher = open({ ttl: ms, connectTimeout: Math.max(ms, 20_000) });
      await publisher.publisher.publish("worker-added", someWorker("a"));
      await using seen = follow(open({ connectTimeout: Math.max(ms, 20_000) }));
      await until(() => seen.workers.size === 1, "it is found");
    },
  );

  test("takes back what it published when it is disposed of, at once", async () => {
    const publisher = open({ ttl: 3_600_000 });
    await publisher.publisher.publish("worker-added", someWorker("a"));
    expect(await keys()).toEqual([`${prefix}/a`]);
    await publisher.dispose();
    expect(await keys()).toEqual([]);
  });

  test("loses the workers of a publisher that falls silent when their lease runs out, and no others", async () => {
    // A publisher that is cut off from the server, although it lives on.
    const { port, cut, close } = await startForwarder(server.port);
    await using publisher = open({ endpoints: [`127.0.0.1:${port}`], ttl: 1000 });
    await publisher.publisher.publish("worker-added", someWorker("silent"));
    await using other = open({ ttl: 1000 });
    await other.publisher.publish("worker-added", someWorker("alive"));
    await using seen = follow(open());
    await until(() => seen.workers.size === 2, "both are found");
    cut();
    await until(() => seen.workers.size === 1, "a lease has run out");
    expect(seen.events).toEqual([...seen.events.slice(0, 2), "dropped silent"]);
    await close();
  });

  test("keeps the workers it knew while the server is down, says so once, and catches up", async () => {
    await using own = await startEtcd();
    await using publisher = open({ endpoints: [own.address], ttl: 60_000 });
    await using other = open({ endpoints: [own.address], ttl: 60_000 });
    await using seen = follow(open({ endpoints: [own.address] }));
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await other.publisher.publish("worker-added", someWorker("b"));
    await until(() => seen.workers.size === 2, "both are found");
    await own.kill();
    await until(() => warnings.length >= 3, "all three notice");
    expect(warnings).toEqual(warnings.map(() => expect.stringMatching(/^etcd at 127\.0\.0\.1:\d+ cannot be reached/)));
    await other.publisher.publish("worker-dropped", someWorker("b"));
    expect([...seen.workers.keys()]).toEqual(["a", "b"]);
    await own.start();
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "back"));
    await until(() => seen.workers.get("a")?.tags.has("back") === true, "the change is seen");
    expect(warnings).toHaveLength(3);
    expect(seen.events).not.toContain("dropped a");
  }, 60_000);

  test("keeps the workers that a server without its data does not know, for those who write them again", async () => {
    await using own = await startEtcd();
    const lost = open({ endpoints: [own.address] });
    const discovery = open({ endpoints: [own.address] });
    await using seen = follow(discovery);
    await lost.publisher.publish("worker-added", someWorker("a"));
    for (const tag of ["b", "c"]) await lost.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", tag));
    await until(() => seen.workers.get("a")?.tags.has("c") === true, "it is found");
    await own.kill();
    await until(() => discovery.problem !== undefined, "it is noticed");
    await lost.dispose();
    rmSync(join(own.folder, "data"), { recursive: true });
    await own.start();
    await using other = open({ endpoints: [own.address] });
    await other.publisher.publish("worker-added", someWorker("b"));
    await until(() => seen.workers.has("b"), "the server is read again");
    expect([...seen.workers.keys()]).toEqual(["a", "b"]);
    expect(seen.events).not.toContain("dropped a");
  }, 60_000);

  test("catches up after a connection that stood still, though the history in between is gone", async () => {
    const { port, cut, restore, close } = await startForwarder(server.port);
    await using publisher = open();
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(open({ endpoints: [`127.0.0.1:${port}`] }));
    await until(() => seen.workers.size === 1, "the first is found");
    cut();
    await publisher.publisher.publish("worker-added", someWorker("b"));
    await publisher.publisher.publish("worker-dropped", someWorker("a"));
    const revision = /"revision":(\d+)/.exec(await etcdctl(server, ["get", "x", "-w", "json"]))?.[1] ?? "";
    await etcdctl(server, ["compaction", revision]);
    restore();
    await until(() => seen.workers.has("b") && !seen.workers.has("a"), "it is up to date");
    await close();
  });

  test("ignores entries of others under its prefix, and counts them", async () => {
    await etcdctl(server, ["put", `${prefix}/nonsense`, "not json"]);
    await etcdctl(server, [
      "put",
      `${prefix}/liar`,
      JSON.stringify({ uid: "another", address: "host:1", pid: 1, version: "" }),
    ]);
    await etcdctl(server, ["put", `${prefix}/%zz`, "{}"]);
    const discovery = open();
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(discovery);
    await until(() => discovery.ignored === 3, "all are counted");
    expect([...seen.workers.keys()]).toEqual(["a"]);
    await discovery.dispose();
  });

  test("warns where two workers share a uid, and uses the last", async () => {
    await using one = open();
    await using two = open();
    await one.publisher.publish("worker-added", someWorker("twin", "10.0.0.1:7001"));
    await two.publisher.publish("worker-added", someWorker("twin", "10.0.0.2:7001"));
    expect(warnings).toEqual([expect.stringContaining("worker twin was announced at 10.0.0.1:7001")]);
    await using seen = follow(open());
    await until(() => seen.workers.get("twin")?.address === "10.0.0.2:7001", "the last one counts");
  });

  test("advertises an address that leads here for a worker on all addresses, and warns for others", async () => {
    await using publisher = open();
    await publisher.publisher.publish("worker-added", someWorker("all", "0.0.0.0:7001"));
    await publisher.publisher.publish("worker-added", someWorker("loop", "127.0.0.1:7001"));
    await publisher.publisher.publish("worker-added", someWorker("socket", "unix:/run/w"));
    await using seen = follow(open());
    await until(() => seen.workers.size === 2, "two are found");
    expect(seen.workers.get("all")?.address).toMatch(/^(?!0\.0\.0\.0)[\d.]+:7001$/);
    expect(warnings).toEqual([
      expect.stringContaining("but listens on 127.0.0.1, where no other machine can reach it"),
      expect.stringContaining("it listens on a unix socket"),
    ]);
  });

  test("names the server that cannot be reached, after a bounded wait", async () => {
    const url = `etcd://127.0.0.1:${await freePort()}/x?connectTimeout=300`;
    await using discovery = (await openDiscovery(url)) as EtcdDiscovery;
    const error = await reasonOf(discovery.publisher.publish("worker-added", someWorker("a")));
    expect(error).toBeInstanceOf(DiscoveryError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/etcd at 127\.0\.0\.1:\d+ did not accept it within 300 ms/),
    });
    const start = await reasonOf(WorkerPool.start({ discovery: url, quorumTimeout: 2000 }));
    expect(start).toBeInstanceOf(NoWorkersAvailable);
    expect(start).toMatchObject({
      message: expect.stringMatching(/etcd at 127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/),
    });
  });

  test("uses the next server of a cluster when one cannot be reached", async () => {
    await using discovery = open({ endpoints: [`127.0.0.1:${await freePort()}`, server.address] });
    await discovery.publisher.publish("worker-added", someWorker("a"));
    expect(await keys()).toEqual([`${prefix}/a`]);
  });

  test("goes on with another server of a cluster, and says so when the majority is gone", async () => {
    const members = await startEtcdCluster();
    try {
      const endpoints = members.map(({ address }) => address);
      const [first, second, third] = members;
      await using publisher = open({ endpoints, ttl: 60_000, connectTimeout: 20_000 });
      await publisher.publisher.publish("worker-added", someWorker("a"));
      const alone = open({ endpoints: [third?.address ?? ""] });
      await using seen = follow(alone);
      await until(() => seen.workers.size === 1, "it is found through another server");
      await first?.kill();
      await publisher.publisher.publish("worker-added", someWorker("b"));
      await until(() => seen.workers.size === 2, "it is announced through another server");
      await second?.kill();
      await until(() => alone.problem !== undefined, "a server without a cluster says so");
      expect(alone.problem).toMatch(/^etcd at 127\.0\.0\.1:\d+ cannot be reached: .*no leader/);
      expect([...seen.workers.keys()]).toEqual(["a", "b"]);
      await first?.start();
      await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "back"));
      await until(() => seen.workers.get("a")?.tags.has("back") === true, "the change is seen");
      expect(seen.events).toEqual(["added a", "added b", "updated a"]);
    } finally {
      await Promise.all(members.map((member) => member[Symbol.asyncDispose]()));
    }
  }, 120_000);

  test("serves pools: one spawns, the other finds", async () => {
    const pid = routine(async () => process.pid);
    await using worker = new LocalWorker({ host: "127.0.0.1" });
    await worker.start();
    await using publisher = open();
    if (worker.metadata === undefined) throw new Error("no metadata");
    await publisher.publisher.publish("worker-added", worker.metadata);
    await using pool = await WorkerPool.start({ discovery: `etcd://${server.address}/${prefix}` });
    expect(await pool.dispatch(pid)).toBe(worker.metadata.pid);
  });

  test("speaks TLS with certificates, and refuses a server of another authority", async () => {
    let made: TestCertificates | undefined;
    await using secured = await startEtcd({ certificates: (folder) => (made = makeCertificates(folder)) });
    const { ca, cert, key } = made ?? { ca: "", cert: "", key: "" };
    const url = `etcds://${secured.address}/x?ca=${ca}&cert=${cert}&key=${key}&connectTimeout=1000`;
    await using discovery = (await openDiscovery(url)) as EtcdDiscovery;
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(discovery);
    await until(() => seen.workers.size === 1, "it is found");
    await using plain = (await openDiscovery(`etcds://${secured.address}/x?connectTimeout=500`)) as EtcdDiscovery;
    await expect(plain.publisher.publish("worker-added", someWorker("b"))).rejects.toThrow(DiscoveryError);
    const tls = {
      ca: readFileSync(ca),
      cert: readFileSync(cert),
      key: readFileSync(key),
      servername: "another.example",
    };
    await using renamed = new EtcdDiscovery({ endpoints: [secured.address], connectTimeout: 500, tls });
    await expect(renamed.publisher.publish("worker-added", someWorker("c"))).rejects.toThrow("another.example");
  }, 60_000);

  test("signs in with a password", async () => {
    await using guarded = await startEtcd();
    await etcdctl(guarded, ["user", "add", "root:top secret"]);
    await etcdctl(guarded, ["user", "grant-role", "root", "root"]);
    await etcdctl(guarded, ["auth", "enable"]);
    const url = (user: string) => `etcd://${user}${guarded.address}/x?connectTimeout=60000`;
    await using discovery = (await openDiscovery(url("root:top%20secret@"))) as EtcdDiscovery;
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(discovery);
    await until(() => seen.workers.size === 1, "it is found");
    for (const [wrong, reason] of [
      [url("root:wrong@"), "etcdserver: authentication failed"],
      [url(""), "etcdserver: user name is empty"],
    ] as const) {
      await using other = (await openDiscovery(wrong)) as EtcdDiscovery;
      const refused = reasonOf(other.publisher.publish("worker-added", someWorker("b")));
      await until(() => other.problem !== undefined, "the server has said what is wrong");
      expect(other.problem).toContain(reason);
      await other.dispose();
      expect(await refused).toBeInstanceOf(DiscoveryError);
      expect(await refused).toMatchObject({ message: expect.stringContaining(reason) });
    }
    expect(warnings.join()).not.toContain("wrong");
  }, 60_000);

  test("signs in again when its token does not hold any more", async () => {
    await using guarded = await startEtcd();
    await etcdctl(guarded, ["user", "add", "root:secret"]);
    await etcdctl(guarded, ["user", "grant-role", "root", "root"]);
    await etcdctl(guarded, ["auth", "enable"]);
    const user = { endpoints: [guarded.address], username: "root", password: "secret" };
    const publisher = open({ ...user, ttl: 60_000 });
    await using seen = follow(open(user));
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await until(() => seen.workers.size === 1, "it is found");
    // As it happens to every token some minutes after its last use, by default.
    const endTokens = async () => {
      await etcdctl(guarded, ["--user", "root:secret", "auth", "disable"]);
      await etcdctl(guarded, ["auth", "enable"]);
    };
    await endTokens();
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "later"));
    await until(() => seen.workers.get("a")?.tags.has("later") === true, "the change is seen");
    await endTokens();
    await publisher.dispose();
    await until(() => seen.workers.size === 0, "it was taken back");
    expect(warnings).toEqual([]);
  }, 60_000);

  test("refuses what makes no sense", () => {
    expect(() => new EtcdDiscovery({ endpoints: [] })).toThrow('"endpoints.length" must be a whole number, 1 or more');
    expect(() => new EtcdDiscovery({ endpoints: ["nowhere"] })).toThrow('the endpoint "nowhere" is neither');
    expect(() => new EtcdDiscovery({ username: "ada" })).toThrow("username and password must be given together");
    expect(() => new EtcdDiscovery({ ttl: -10 })).toThrow('option "ttl"');
  });
});

/** Passes connections on to a port, until it is cut: then they stand still, and new ones are refused. */
async function startForwarder(target: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((client) => {
    if (isCut) return client.destroy();
    const upstream = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (bytes) => {
        if (!isCut) to.write(bytes);
      });
      from.on("error", () => to.destroy());
      from.on("close", () => to.destroy());
    }
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const drop = () => {
    for (const socket of sockets) socket.destroy();
    sockets.clear();
  };
  return {
    port: address.port,
    cut: () => {
      isCut = true;
    },
    restore: () => {
      isCut = false;
      drop();
    },
    close: async () => {
      drop();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
