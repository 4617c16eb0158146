import { describe, expect, test } from "vitest";
import { type Agent, Network } from "../support/hosts.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("network namespaces");
const URL = "lan:render";

/** What only an interface can tell others, since it is bound to all of them. */
function worker(uid: string, address = "0.0.0.0:7001", ...tags: string[]) {
  return { uid, address, pid: 1, version: "1", tags, extra: {}, secure: false, channel: {} };
}

async function subscribed(agent: Agent, url = URL): Promise<Agent> {
  await agent.do("subscribe", url);
  return agent;
}

/** A network of hosts, each in these networks. */
function build(...hosts: string[][]): Network {
  return new Network({ hosts });
}

describe.skipIf(missing !== undefined).concurrent("LAN discovery between hosts", () => {
  test("finds, follows and loses workers, at addresses that lead there", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    if (one === undefined || two === undefined) throw new Error("no hosts");
    const early = await subscribed(two.agent());
    const publisher = one.agent();
    await publisher.do("publish", URL, "worker-added", worker("w-1"));
    await until(() => early.uids(URL).length === 1, "the worker is found");
    expect(early.known.get(URL)?.get("w-1")?.address).toBe(`${one.address}:7001`);
    const late = await subscribed(two.agent());
    await until(() => late.uids(URL).length === 1, "a late subscriber finds it, too");
    await publisher.do("publish", URL, "worker-updated", worker("w-1", "0.0.0.0:7001", "gpu"));
    await until(() => early.known.get(URL)?.get("w-1")?.tags[0] === "gpu", "the change is seen");
    await publisher.do("publish", URL, "worker-dropped", worker("w-1"));
    await until(() => early.uids(URL).length === 0 && late.uids(URL).length === 0, "it is gone for all");
    expect(early.events).toEqual(["added w-1", "updated w-1", "dropped w-1"]);
  });

  test("keeps namespaces apart", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const subscriber = two?.agent();
    const publisher = one?.agent();
    await subscriber?.do("subscribe", "lan:one");
    await subscriber?.do("subscribe", "lan:two");
    await publisher?.do("publish", "lan:one", "worker-added", worker("w-1"));
    await publisher?.do("publish", "lan:two", "worker-added", worker("w-2"));
    await until(() => subscriber?.uids("lan:two").length === 1, "the second one is found");
    await until(() => subscriber?.uids("lan:one").length === 1, "the first one is found");
    expect(subscriber?.uids("lan:one")).toEqual(["w-1"]);
    expect(subscriber?.uids("lan:two")).toEqual(["w-2"]);
  });

  test("uses every interface of a host, with no default route", async () => {
    await using network = build(["a", "b"], ["a"], ["b"]);
    const { hosts } = network;
    const [both, onA, onB] = hosts;
    const [a, b] = [await subscribed(onA?.agent() as Agent), await subscribed(onB?.agent() as Agent)];
    const publisher = both?.agent() as Agent;
    await publisher.do("publish", URL, "worker-added", worker("w-1"));
    await until(() => a.uids(URL).length === 1 && b.uids(URL).length === 1, "both networks see it");
    expect(a.known.get(URL)?.get("w-1")?.address).toBe(`${both?.addresses["a"]}:7001`);
    expect(b.known.get(URL)?.get("w-1")?.address).toBe(`${both?.addresses["b"]}:7001`);
  });

  test("works where there is only IPv6", async () => {
    await using network = new Network({ hosts: [["a"], ["a"]], isIpv6Only: true });
    const [one, two] = network.hosts;
    const subscriber = await subscribed(two?.agent() as Agent);
    await one?.agent().do("publish", URL, "worker-added", worker("w-1", "[::]:7001"));
    await until(() => subscriber.uids(URL).length === 1, "the worker is found");
    expect(subscriber.known.get(URL)?.get("w-1")?.address).toMatch(/^\[fe80:.*%net-a\]:7001$/);
  });

  test("forgets a worker whose host falls silent when its time is over, and not before others", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const url = "lan:render?ttl=4000";
    const subscriber = await subscribed(two?.agent() as Agent, url);
    const [doomed, lasting] = [one?.agent() as Agent, one?.agent() as Agent];
    await doomed.do("publish", url, "worker-added", worker("w-doomed"));
    await lasting.do("publish", url, "worker-added", worker("w-lasting", "0.0.0.0:7002"));
    await until(() => subscriber.uids(url).length === 2, "both are found");
    await doomed.kill();
    await until(() => subscriber.uids(url).length === 1, "the silent one is forgotten");
    // The other one was asked again before its time was over, and answered.
    expect(subscriber.uids(url)).toEqual(["w-lasting"]);
    expect(subscriber.events).not.toContain("dropped w-lasting");
  });

  test("finds 500 workers", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const subscriber = await subscribed(two?.agent() as Agent);
    await one?.agent().do("publishMany", URL, 500, "w");
    await until(() => subscriber.uids(URL).length === 500, "all are found");
    const late = await subscribed(two?.agent() as Agent);
    await until(() => late.uids(URL).length === 500, "a late subscriber finds all of them");
  }, 60_000);

  test.each(["forwarding", "cable"] as const)(
    "sees workers again after a partition (%s)",
    async (kind) => {
      await using net = build(["a"], ["a"]);
      const [one, two] = net.hosts;
      const url = "lan:render?ttl=3000";
      const subscriber = await subscribed(two?.agent() as Agent, url);
      await one?.agent().do("publish", url, "worker-added", worker("w-1"));
      await until(() => subscriber.uids(url).length === 1, "it is found");
      if (kind === "forwarding") net.setForwarding(0, "a", "off");
      else net.setCable(0, "a", "down");
      await until(() => subscriber.uids(url).length === 0, "it is given up");
      if (kind === "forwarding") net.setForwarding(0, "a", "on");
      else net.setCable(0, "a", "up");
      await until(() => subscriber.uids(url).length === 1, "it is found again");
    },
    90_000,
  );

  // Whoever has a name has 750 ms to say so, which a busy machine does not give it.
  test.sequential("gives a second worker with the same name another one, and uses the first", async () => {
    await using network = build(["a"], ["a"], ["a"]);
    const [one, two, three] = network.hosts;
    const subscriber = await subscribed(three?.agent() as Agent);
    await one?.agent().do("publish", URL, "worker-added", worker("w-twin"));
    await until(() => subscriber.uids(URL).length === 1, "the first is found");
    await two?.agent().do("publish", URL, "worker-added", worker("w-twin"));
    await until(() => subscriber.stderr.includes("share the uid w-twin"), "the second is noticed");
    expect(subscriber.known.get(URL)?.get("w-twin")?.address).toBe(`${one?.address}:7001`);
    expect(subscriber.stderr).toContain(`${two?.address}:7001`);
  });
});
