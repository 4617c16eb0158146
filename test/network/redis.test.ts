import { readFileSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { DiscoveryError, LocalWorker, NoWorkersAvailable, openDiscovery, routine, WorkerPool } from "wool-ts";
import { RedisDiscovery, type RedisDiscoveryOptions } from "wool-ts/redis";
import { follow, someWorker } from "../support/follow.ts";
import { freePort } from "../support/free-port.ts";
import { reasonOf } from "../support/reason-of.ts";
import { makeCertificates, redisCli, startRedis, type TestServer } from "../support/registry-servers.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("redis-server", "openssl");

describe.skipIf(missing !== undefined)("Redis discovery", () => {
  let server: TestServer;
  let prefix = "";
  let warnings: string[] = [];

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
  });
  beforeEach(({ task }) => {
    prefix = `test-${task.id}`;
    warnings = [];
    vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
    return () => vi.restoreAllMocks();
  });

  const open = (options: RedisDiscoveryOptions = {}) =>
    new RedisDiscovery({ address: server.address, prefix, connectTimeout: 20_000, ...options });
  const keys = async () => (await redisCli(server, "--scan", "--pattern", `{${prefix}}*`)).split("\n").filter(Boolean);
  const key = (uid: string) => `{${prefix}}:worker:${uid}`;

  test("tells of workers that come, change and go, and a late subscriber of those that exist", async () => {
    await using publisher = open();
    await using early = follow(open());
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await publisher.publisher.publish("worker-added", someWorker("b/ü"));
    await until(() => early.workers.size === 2, "both are found");
    expect(early.events.toSorted()).toEqual(["added a", "added b/ü"]);
    await using late = follow(open());
    await until(() => late.workers.size === 2, "the late subscriber has both");
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "gpu"));
    await until(() => early.workers.get("a")?.tags.has("gpu") === true, "the change is seen");
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "gpu"));
    await publisher.publisher.publish("worker-dropped", someWorker("b/ü"));
    await until(() => early.workers.size === 1 && late.workers.size === 1, "one is gone");
    expect(early.events.slice(2)).toEqual(["updated a", "dropped b/ü"]);
  });

  test("needs no setting of the server: notifications of keys are off", async () => {
    expect(await redisCli(server, "config", "get", "notify-keyspace-events")).toBe("notify-keyspace-events");
  });

  test("keeps prefixes apart", async () => {
    await using one = open({ prefix: `${prefix}-one` });
    await using two = open({ prefix: `${prefix}-two` });
    await one.publisher.publish("worker-added", someWorker("a"));
    await two.publisher.publish("worker-added", someWorker("b"));
    await using seenOne = follow(one);
    await using seenTwo = follow(two);
    await until(() => seenOne.workers.size === 1 && seenTwo.workers.size === 1, "each has its own");
    expect([...seenOne.workers.keys(), ...seenTwo.workers.keys()]).toEqual(["a", "b"]);
  });

  test("keeps databases apart", async () => {
    await using one = open({ database: 1 });
    await using two = open({ database: 2 });
    await one.publisher.publish("worker-added", someWorker("a"));
    await two.publisher.publish("worker-added", someWorker("b"));
    await using seenOne = follow(open({ database: 1 }));
    await using seenTwo = follow(open({ database: 2 }));
    await until(() => seenOne.workers.size === 1 && seenTwo.workers.size === 1, "each has its own");
    expect([...seenOne.workers.keys(), ...seenTwo.workers.keys()]).toEqual(["a", "b"]);
  });

  test("takes back what it published when it is disposed of, and leaves no key", async () => {
    const publisher = open({ ttl: 3_600_000 });
    await publisher.publisher.publish("worker-added", someWorker("a"));
    expect((await keys()).length).toBeGreaterThan(0);
    await publisher.dispose();
    expect(await keys()).toEqual([]);
  });

  test("loses the workers of a publisher that falls silent when they expire, and no others", async () => {
    await using publisher = open({ ttl: 500 });
    await publisher.publisher.publish("worker-added", someWorker("alive"));
    // As a publisher leaves it that was killed.
    const silent = JSON.stringify({ ...someWorker("silent"), tags: [] });
    await redisCli(server, "set", key("silent"), silent, "px", "1500");
    await redisCli(server, "sadd", `{${prefix}}:workers`, "silent");
    await using seen = follow(open({ ttl: 500 }));
    await until(() => seen.workers.size === 2, "both are found");
    await until(() => seen.workers.size === 1, "one has expired");
    expect(seen.events).toEqual([...seen.events.slice(0, 2), "dropped silent"]);
    await until(async () => (await redisCli(server, "scard", `{${prefix}}:workers`)) === "1", "the index is tidy");
  });

  test("writes again what somebody has removed", async () => {
    await using publisher = open({ ttl: 300 });
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await redisCli(server, "flushall");
    await until(async () => (await redisCli(server, "exists", key("a"))) === "1", "it is back");
  });

  test("keeps the workers it knew while the server is down, says so once, and catches up", async () => {
    await using own = await startRedis();
    await using publisher = open({ address: own.address });
    await using seen = follow(open({ address: own.address }));
    await publisher.publisher.publish("worker-added", someWorker("a"));
    await until(() => seen.workers.size === 1, "it is found");
    await own.kill();
    await until(() => warnings.length >= 2, "both notice");
    expect(warnings).toEqual(warnings.map(() => expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ cannot be reached/)));
    expect([...seen.workers.keys()]).toEqual(["a"]);
    await own.start();
    // The server has lost everything; the publisher writes it again.
    await publisher.publisher.publish("worker-updated", someWorker("a", "10.0.0.1:7001", "back"));
    await until(() => seen.workers.get("a")?.tags.has("back") === true, "the change is seen");
    expect(warnings).toHaveLength(2);
  }, 60_000);

  test("keeps the workers that a server without its data does not know, for those who write them again", async () => {
    await using own = await startRedis();
    const lost = open({ address: own.address });
    await using discovery = open({ address: own.address });
    await using seen = follow(discovery);
    await lost.publisher.publish("worker-added", someWorker("a"));
    await until(() => seen.workers.size === 1, "it is found");
    await own.kill();
    await until(() => discovery.problem !== undefined, "it is noticed");
    await lost.dispose();
    await own.start();
    await using other = open({ address: own.address });
    await other.publisher.publish("worker-added", someWorker("b"));
    await until(() => seen.workers.has("b"), "the server is read again");
    expect(seen.events).toEqual(["added a", "added b"]);
  }, 60_000);

  test("notices a server that stands still", async () => {
    await using own = await startRedis();
    await using discovery = open({ address: own.address, ttl: 1000 });
    await using seen = follow(discovery);
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await until(() => seen.workers.size === 1, "it is found");
    own.signal("SIGSTOP");
    await until(() => warnings.length === 1, "it is noticed");
    expect(warnings[0]).toContain("no answer within 5000 ms");
    expect([...seen.workers.keys()]).toEqual(["a"]);
    own.signal("SIGCONT");
    await until(async () => (await redisCli(own, "exists", key("a"))) === "1", "it is there again");
  }, 60_000);

  test("ignores entries of others under its prefix, and counts them", async () => {
    for (const uid of ["nonsense", "liar"]) await redisCli(server, "sadd", `{${prefix}}:workers`, uid);
    await redisCli(server, "set", key("nonsense"), "not json");
    await redisCli(server, "set", key("liar"), JSON.stringify({ ...someWorker("another"), tags: [] }));
    await using discovery = open();
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(discovery);
    await until(() => discovery.ignored === 2, "both are counted");
    expect([...seen.workers.keys()]).toEqual(["a"]);
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

  test("names the server that cannot be reached, after a bounded wait", async () => {
    const url = `redis://127.0.0.1:${await freePort()}/x?connectTimeout=300`;
    await using discovery = (await openDiscovery(url)) as RedisDiscovery;
    const error = await reasonOf(discovery.publisher.publish("worker-added", someWorker("a")));
    expect(error).toBeInstanceOf(DiscoveryError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/Redis at 127\.0\.0\.1:\d+ did not accept it within 300 ms/),
    });
    const start = await reasonOf(WorkerPool.start({ discovery: url, quorumTimeout: 2000 }));
    expect(start).toBeInstanceOf(NoWorkersAvailable);
    expect(start).toMatchObject({ message: expect.stringMatching(/Redis at 127\.0\.0\.1:\d+ cannot be reached/) });
  });

  test.each([0, 0.4, 1e6, 2 ** 31 + 0.5, 1e300, Number.POSITIVE_INFINITY])(
    "takes %d ms for its times, or the next that Redis has",
    async (ms) => {
      await using publisher = open({ ttl: ms, connectTimeout: Math.max(ms, 20_000) });
      await publisher.publisher.publish("worker-added", someWorker("a"));
      await using reader = open({ connectTimeout: Math.max(ms, 20_000) });
      await using seen = follow(reader);
      await until(() => seen.workers.size === 1, "it is found");
    },
  );

  test("serves pools", async () => {
    const pid = routine(async () => process.pid);
    await using worker = new LocalWorker({ host: "127.0.0.1" });
    await worker.start();
    await using publisher = open();
    if (worker.metadata === undefined) throw new Error("no metadata");
    await publisher.publisher.publish("worker-added", worker.metadata);
    await using pool = await WorkerPool.start({ discovery: `redis://${server.address}/${prefix}` });
    expect(await pool.dispatch(pid)).toBe(worker.metadata.pid);
  });

  test("a pool goes on while the server is down, and finds new workers when it is back", async () => {
    const pid = routine(async () => process.pid);
    await using own = await startRedis();
    await using publisher = open({ address: own.address });
    const start = async () => {
      const worker = new LocalWorker({ host: "127.0.0.1" });
      await worker.start();
      if (worker.metadata === undefined) throw new Error("no metadata");
      return { worker, metadata: worker.metadata };
    };
    const [first, second] = await Promise.all([start(), start()]);
    await publisher.publisher.publish("worker-added", first.metadata);
    await using pool = await WorkerPool.start({ discovery: `redis://${own.address}/${prefix}` });
    await own.kill();
    const told = () => warnings.filter((warning) => warning.includes("cannot be reached")).length;
    await until(() => told() === 2, "pool and publisher notice");
    expect(await pool.dispatch(pid)).toBe(first.metadata.pid);
    await own.start();
    await publisher.publisher.publish("worker-added", second.metadata);
    await until(() => pool.workers.size === 2, "the new one is found");
    expect(pool.workers.has(first.worker.uid)).toBe(true);
    expect(told()).toBe(2);
    await Promise.all([first.worker.stop(), second.worker.stop()]);
  }, 60_000);

  test("speaks TLS, and refuses a server of another authority", async () => {
    let ca = "";
    await using secured = await startRedis({
      certificates: (folder) => {
        const made = makeCertificates(folder);
        ({ ca } = made);
        return made;
      },
    });
    await using discovery = (await openDiscovery(`rediss://${secured.address}/x?ca=${ca}`)) as RedisDiscovery;
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using seen = follow(discovery);
    await until(() => seen.workers.size === 1, "it is found");
    await using stranger = (await openDiscovery(`rediss://${secured.address}/x?connectTimeout=500`)) as RedisDiscovery;
    await expect(stranger.publisher.publish("worker-added", someWorker("b"))).rejects.toThrow(DiscoveryError);
    const tls = { ca: readFileSync(ca), servername: "another.example" };
    await using renamed = open({ address: secured.address, connectTimeout: 500, tls });
    await expect(renamed.publisher.publish("worker-added", someWorker("c"))).rejects.toThrow("another.example");
  }, 60_000);

  test("signs in as a user", async () => {
    await redisCli(server, "acl", "setuser", "ann", "on", ">top secret", "~*", "&*", "+@all");
    await using discovery = open({ username: "ann", password: "top secret" });
    await discovery.publisher.publish("worker-added", someWorker("a"));
    await using other = open({ username: "bob", password: "top secret", connectTimeout: 500 });
    await expect(other.publisher.publish("worker-added", someWorker("b"))).rejects.toThrow("WRONGPASS");
  });

  test("signs in with a password", async () => {
    await using guarded = await startRedis({ password: "top secret" });
    const url = (user: string) => `redis://${user}${guarded.address}/x?connectTimeout=60000`;
    await using discovery = (await openDiscovery(url(":top%20secret@"))) as RedisDiscovery;
    await discovery.publisher.publish("worker-added", someWorker("a"));
    for (const [wrong, reason] of [
      [url(":wrong@"), "WRONGPASS"],
      [url(""), "NOAUTH"],
    ] as const) {
      await using other = (await openDiscovery(wrong)) as RedisDiscovery;
      const refused = reasonOf(other.publisher.publish("worker-added", someWorker("b")));
      await until(() => other.problem !== undefined, "the server has said what is wrong");
      expect(other.problem).toContain(reason);
      await other.dispose();
      expect(await refused).toBeInstanceOf(DiscoveryError);
    }
    expect(warnings.join()).not.toContain("top secret");
  });

  test("refuses what makes no sense", () => {
    expect(() => new RedisDiscovery({ address: "nowhere" })).toThrow('the address "nowhere" is neither');
    expect(() => new RedisDiscovery({ username: "ada" })).toThrow("a username needs a password");
    expect(() => new RedisDiscovery({ ttl: -10 })).toThrow('option "ttl"');
  });
});
