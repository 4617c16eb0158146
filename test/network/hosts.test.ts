import { describe, expect, test } from "vitest";
import { type Agent, type AgentWorker, type Host, Network } from "../support/hosts.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("network namespaces");

/** A network of hosts, each in these networks. */
function build(...hosts: string[][]): Network {
  return new Network({ hosts });
}

/** Starts a worker on a host and announces it. */
async function startWorker(
  host: Host | undefined,
  url: string,
  address = "0.0.0.0",
  port?: number,
): Promise<{ agent: Agent; worker: AgentWorker }> {
  if (host === undefined) throw new Error("there is no such host");
  const agent = host.agent();
  const worker = (await agent.do("startWorker", url, { host: address, port })) as AgentWorker;
  return { agent, worker };
}

const uidsOf = async (agent: Agent) =>
  ((await agent.do("poolWorkers", "pool")) as AgentWorker[]).map(({ uid }) => uid).sort();

describe.skipIf(missing !== undefined).concurrent("a durable pool on one of three hosts", () => {
  const URL = "lan:render";

  test("uses the workers on the others, which call each other", async () => {
    await using network = build(["a"], ["a"], ["a"]);
    const [one, two, three] = network.hosts;
    const first = await startWorker(two, URL);
    const second = await startWorker(three, URL);
    const caller = one?.agent() as Agent;
    const found = await caller.do("startPool", "pool", { discovery: URL, quorum: 2 });
    expect((found as string[]).sort()).toEqual([first.worker.uid, second.worker.uid].sort());
    const answers = await caller.do("broadcast", "pool", "whereAmI");
    expect(answers).toMatchObject([{ status: "fulfilled" }, { status: "fulfilled" }]);
    // A chain of nested calls, each from the worker that has the last one.
    const chains = (await Promise.all(
      Array.from({ length: 20 }, () => caller.do("call", "pool", "hop", {}, 4)),
    )) as string[][];
    const hops = chains.flatMap((chain) => chain.slice(1).map((uid, index) => `${chain[index]} ${uid}`));
    expect(chains.every((chain) => chain.length === 5)).toBe(true);
    expect(hops).toContain(`${first.worker.uid} ${second.worker.uid}`);
    expect(hops).toContain(`${second.worker.uid} ${first.worker.uid}`);
  }, 60_000);

  test("does without a host that is cut off, and uses it again when it is back", async () => {
    await using network = build(["a"], ["a"], ["a"]);
    const [one, two, three] = network.hosts;
    const channel = { keepaliveInterval: 500, keepaliveTimeout: 500 };
    const start = async (host: Host | undefined): Promise<string> => {
      const agent = host?.agent() as Agent;
      return ((await agent.do("startWorker", URL, { host: "0.0.0.0", channel })) as AgentWorker).uid;
    };
    const [steady, doomed] = [await start(two), await start(three)];
    const caller = one?.agent() as Agent;
    await caller.do("startPool", "pool", { discovery: URL, quorum: 2 });
    const usedBy = async (calls: number) =>
      new Set(
        (await Promise.all(
          Array.from({ length: calls }, () => caller.do("call", "pool", "nap", { idempotent: true }, 20)),
        )) as string[],
      );
    await until(async () => (await usedBy(20)).size === 2, "both are used");
    network.setForwarding(2, "a", "off");
    // Calls under way there are lost, and go elsewhere since they may.
    await until(async () => !(await usedBy(10)).has(doomed), "only the other one is used");
    expect(await usedBy(10)).toEqual(new Set([steady]));
    network.setForwarding(2, "a", "on");
    await until(async () => (await usedBy(10)).has(doomed), "it is used again");
  }, 120_000);

  test("loses nothing that the remaining workers can do when a host dies", async () => {
    await using network = build(["a"], ["a"], ["a"]);
    const [one, two, three] = network.hosts;
    const first = await startWorker(two, URL);
    const second = await startWorker(three, URL);
    const caller = one?.agent() as Agent;
    await caller.do("startPool", "pool", { discovery: URL, quorum: 2 });
    const calls = Array.from({ length: 30 }, () => caller.do("call", "pool", "nap", { idempotent: true }, 100));
    await second.agent.kill();
    expect((await Promise.all(calls)).length).toBe(30);
    const after = await Promise.all(Array.from({ length: 5 }, () => caller.do("call", "pool", "nap", {}, 1)));
    expect(new Set(after)).toEqual(new Set([first.worker.uid]));
  }, 90_000);
});

describe.skipIf(missing !== undefined).concurrent("a host with two interfaces and no default route", () => {
  test("serves callers of both networks, each by its own address", async () => {
    await using network = build(["a", "b"], ["a"], ["b"]);
    const [both, onA, onB] = network.hosts;
    const { worker } = await startWorker(both, "lan:two");
    for (const [host, net] of [
      [onA, "a"],
      [onB, "b"],
    ] as const) {
      const caller = host?.agent() as Agent;
      await caller.do("startPool", "pool", { discovery: "lan:two" });
      expect(await caller.do("poolWorkers", "pool")).toMatchObject([
        { uid: worker.uid, address: expect.stringMatching(`^${both?.addresses[net]}:`) },
      ]);
      expect(await caller.do("call", "pool", "nap", {}, 1)).toBe(worker.uid);
    }
  }, 60_000);

  test("finds workers of both networks, and calls them", async () => {
    await using network = build(["a", "b"], ["a"], ["b"]);
    const [both, onA, onB] = network.hosts;
    const first = await startWorker(onA, "lan:two");
    const second = await startWorker(onB, "lan:two");
    const caller = both?.agent() as Agent;
    await caller.do("startPool", "pool", { discovery: "lan:two", quorum: 2 });
    expect(await uidsOf(caller)).toEqual([first.worker.uid, second.worker.uid].sort());
    const used = await Promise.all(Array.from({ length: 20 }, () => caller.do("call", "pool", "nap", {}, 20)));
    expect(new Set(used)).toEqual(new Set([first.worker.uid, second.worker.uid]));
  }, 60_000);
});

describe.skipIf(missing !== undefined).concurrent("between hosts", () => {
  test("calls pass over IPv6 link-local addresses alone", async () => {
    await using network = new Network({ hosts: [["a"], ["a"]], isIpv6Only: true });
    const [one, two] = network.hosts;
    const { worker } = await startWorker(two, "lan:six", "::");
    const caller = one?.agent() as Agent;
    await caller.do("startPool", "pool", { discovery: "lan:six" });
    expect(await caller.do("call", "pool", "nap", {}, 1)).toBe(worker.uid);
  }, 60_000);

  test("a hybrid pool spawns workers here, uses those there, and both call each other", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const there = await startWorker(two, "lan:mixed");
    const caller = one?.agent() as Agent;
    const options = { discovery: "lan:mixed", size: 1, quorum: 2, workerOptions: { host: "0.0.0.0" } };
    const uids = (await caller.do("startPool", "pool", options)) as string[];
    const here = uids.find((uid) => uid !== there.worker.uid);
    const chains = (await Promise.all(
      Array.from({ length: 20 }, () => caller.do("call", "pool", "hop", {}, 4)),
    )) as string[][];
    const hops = chains.flatMap((chain) => chain.slice(1).map((uid, index) => `${chain[index]} ${uid}`));
    expect(hops).toContain(`${there.worker.uid} ${here}`);
    expect(hops).toContain(`${here} ${there.worker.uid}`);
  }, 60_000);

  test("a worker at an address that nobody can reach is left out of calls, and told of once", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const { worker, agent } = await startWorker(two, "lan:far");
    // An address of no host: as of a machine behind NAT.
    await agent.do("publish", "lan:far", "worker-added", {
      uid: "unreachable",
      address: "10.77.0.99:7001",
      pid: 1,
      version: "1",
      tags: [],
      extra: {},
      secure: false,
      channel: {},
    });
    const caller = one?.agent() as Agent;
    await caller.do("startPool", "pool", { discovery: "lan:far", quorum: 2 });
    const used = await Promise.all(Array.from({ length: 20 }, () => caller.do("call", "pool", "nap", {}, 5)));
    expect(new Set(used)).toEqual(new Set([worker.uid]));
    const told = () => caller.stderr.split("worker unreachable is announced at 10.77.0.99:7001").length - 1;
    await until(() => told() > 0, "it is told of");
    for (let i = 0; i < 5; i++) await caller.do("call", "pool", "nap", {}, 500);
    expect(told()).toBe(1);
  }, 90_000);

  test("the doctor sees what works, and says what to do about what does not", async () => {
    await using network = build(["a"], ["a"], ["a"]);
    const [one, two, three] = network.hosts;
    const first = await startWorker(two, "lan:doc", "0.0.0.0", 7001);
    const second = await startWorker(three, "lan:doc");
    const look = async () => {
      const output = (await one?.run(process.execPath, CLI, "doctor", "--discovery", "lan:doc", "--json")) ?? "";
      return JSON.parse(output) as { subject: string; verdict: string; answer: string; fix: string }[];
    };
    const findings = await look();
    const verdictOf = (subject: string) => findings.find((finding) => finding.subject === subject)?.verdict;
    expect(findings.filter(({ verdict }) => verdict === "bad")).toEqual([]);
    expect(verdictOf("multicast on net-a")).toBe("good");
    for (const { worker } of [first, second]) {
      expect(verdictOf(`worker ${worker.uid}`)).toBe("good");
      expect(verdictOf(`from worker ${worker.uid}`)).toBe("good");
      expect(verdictOf(`way back from worker ${worker.uid}`)).toBe("good");
    }
    await first.agent.do("publish", "lan:doc", "worker-added", {
      uid: "lost",
      address: "10.77.0.2:1",
      pid: 1,
      version: "1",
      tags: [],
      extra: {},
      secure: false,
      channel: {},
    });
    two?.forbidConnecting();
    const later = await look();
    const bad = later.filter(({ verdict }) => verdict === "bad");
    expect(bad.map(({ subject }) => subject)).toContain("worker lost");
    expect(bad.every(({ fix }) => fix !== "")).toBe(true);
    const find = (subject: string) => later.find((finding) => finding.subject === subject);
    expect(find(`way back from worker ${first.worker.uid}`)).toMatchObject({
      verdict: "note",
      answer: expect.stringMatching(`^this machine cannot be reached at ${one?.address}: .*ENETUNREACH`),
      fix: expect.stringContaining("allow connections from there"),
    });
    expect(find(`from worker ${first.worker.uid}`)?.verdict).toBe("bad");
    expect(find(`worker ${first.worker.uid}`)?.verdict).toBe("good");
    expect(find(`way back from worker ${second.worker.uid}`)?.verdict).toBe("good");
  }, 90_000);

  test("wool worker on one host, wool ps and wool stop on another", async () => {
    await using network = build(["a"], ["a"]);
    const [one, two] = network.hosts;
    const command = two?.spawn(process.execPath, [
      CLI,
      "worker",
      "--discovery",
      "lan:cli",
      "--host",
      "0.0.0.0",
      "--tag",
      "far",
    ]);
    let log = "";
    command?.stdout?.setEncoding("utf8").on("data", (text: string) => (log += text));
    await until(() => log.includes('"ready"'), "the worker is ready");
    const listed = JSON.parse((await one?.run(process.execPath, CLI, "ps", "--discovery", "lan:cli", "--json")) ?? "");
    expect(listed).toMatchObject([
      { responds: true, tags: ["far"], address: expect.stringMatching(`^${two?.address}:`) },
    ]);
    const ended = new Promise((resolve) => command?.on("close", resolve));
    await one?.run(process.execPath, CLI, "stop", "--tag", "far", "--discovery", "lan:cli");
    expect(await ended).toBe(0);
  }, 60_000);
});

const CLI = new globalThis.URL("../../dist/cli.js", import.meta.url).pathname;
