import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { runtimeDirectory } from "../../host/index.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { LocalDiscovery } from "./local-discovery.ts";
import { namespaceFolder } from "./local-entry.ts";

const POLL_INTERVAL = 50;

let scratch: string;
const children: ChildProcess[] = [];
const opened: LocalDiscovery[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-test-"));
  vi.stubEnv("XDG_RUNTIME_DIR", scratch);
});

afterEach(async () => {
  for (const child of children.splice(0)) await end(child);
  // Reading a namespace removes the files of killed publishers.
  for (const discovery of opened.splice(0)) {
    await discovery.snapshot();
    await discovery.dispose();
  }
  const left = readdirSync(runtimeDirectory());
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
  expect(left).toEqual([]);
});

/** Runs `script` in another process, with a `discovery`, a function `worker(uid, ...tags)` and a function `tell(value)`. */
function run(namespace: string, script: string): ChildProcess {
  const source = new URL("./local-discovery.ts", import.meta.url).href;
  const prelude = `
    const { LocalDiscovery } = await import(${JSON.stringify(source)});
    const discovery = new LocalDiscovery(${JSON.stringify(namespace)}, { pollInterval: ${POLL_INTERVAL} });
    const worker = (uid, ...tags) => ({ uid, address: "unix:/run/" + uid, pid: process.pid, version: "1",
      tags: new Set(tags), extra: {}, secure: false, channel: {} });
    const tell = (value) => new Promise((resolve) => process.send(value, resolve));
  `;
  const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", prelude + script], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  children.push(child);
  return child;
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

/** A process that publishes these workers, then each publication that it is sent as `[type, uid, ...tags]`. */
async function startPublisher(namespace: string, ...uids: string[]): Promise<ChildProcess> {
  const child = run(
    namespace,
    `process.on("message", async ([type, uid, ...tags]) => {
       await discovery.publisher.publish(type, worker(uid, ...tags));
       await tell("published");
     });
     await Promise.all(${JSON.stringify(uids)}.map((uid) => discovery.publisher.publish("worker-added", worker(uid))));
     await tell("ready");`,
  );
  await once(child, "message");
  return child;
}

async function publish(child: ChildProcess, ...command: string[]): Promise<void> {
  const published = once(child, "message");
  child.send(command);
  await published;
}

function open(namespace: string): LocalDiscovery {
  const discovery = new LocalDiscovery(namespace, { pollInterval: POLL_INTERVAL });
  opened.push(discovery);
  return discovery;
}

function subscribe(namespace: string): () => Promise<string> {
  const iterator = open(namespace).subscribe()[Symbol.asyncIterator]();
  return async () => {
    const { done, value } = await iterator.next();
    if (done === true) throw new Error("The subscription ended.");
    return `${value.type.slice("worker-".length)} ${value.worker.uid}`;
  };
}

async function uidsIn(namespace: string): Promise<string[]> {
  return (await open(namespace).snapshot()).map(({ uid }) => uid).sort();
}

function worker(uid: string, pid = process.pid): WorkerMetadata {
  return { uid, address: "host:1", pid, version: "1", tags: new Set(), extra: {}, secure: false, channel: {} };
}

describe("LocalDiscovery across processes", () => {
  it("tells this process what another publishes", async () => {
    const next = subscribe("shared");
    const publisher = await startPublisher("shared", "a");
    expect(await next()).toBe("added a");
    await publish(publisher, "worker-updated", "a", "gpu");
    expect(await next()).toBe("updated a");
    await publish(publisher, "worker-dropped", "a");
    expect(await next()).toBe("dropped a");
  });

  it("tells another process what this one publishes, before and after it subscribed", async () => {
    const { publisher } = open("shared");
    await publisher.publish("worker-added", worker("early"));
    const child = run(
      "shared",
      `process.on("disconnect", () => process.exit());
       for await (const { type, worker } of discovery.subscribe()) await tell(type + " " + worker.uid);`,
    );
    const heard: unknown[] = [];
    child.on("message", (message) => heard.push(message));
    await vi.waitFor(() => expect(heard).toEqual(["worker-added early"]), { timeout: 20_000 });
    await publisher.publish("worker-added", worker("late"));
    await vi.waitFor(() => expect(heard).toEqual(["worker-added early", "worker-added late"]), { timeout: 20_000 });
  });

  it("drops the workers of a publisher that is killed, and leaves nothing of them", async () => {
    const next = subscribe("shared");
    const doomed = await startPublisher("shared", "a", "b");
    await startPublisher("shared", "c");
    expect([await next(), await next(), await next()].sort()).toEqual(["added a", "added b", "added c"]);
    await end(doomed);
    expect([await next(), await next()].sort()).toEqual(["dropped a", "dropped b"]);
    expect(readdirSync(join(runtimeDirectory(), namespaceFolder("shared")))).toHaveLength(1);
  });

  it("loses and leaves nothing when many workers come at once, and are killed at once", async () => {
    const present = new Set<string>();
    const iterator = open("shared").subscribe()[Symbol.asyncIterator]();
    const following = (async () => {
      for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
        if (step.value.type === "worker-dropped") present.delete(step.value.worker.uid);
        else present.add(step.value.worker.uid);
      }
    })();
    const survivor = await startPublisher("shared", "survivor");
    const crowd = Array.from({ length: 40 }, () => spawn("sleep", ["1000"]));
    children.push(...crowd);
    await Promise.all(crowd.map((child) => once(child, "spawn")));
    const publishers = crowd.map(() => open("shared").publisher);
    await Promise.all(
      publishers.map((publisher, index) => publisher.publish("worker-added", worker(`w-${index}`, crowd[index]?.pid))),
    );
    await vi.waitFor(() => expect(present.size).toBe(41), { timeout: 20_000 });
    await Promise.all(crowd.map((child) => end(child)));
    await vi.waitFor(() => expect([...present]).toEqual(["survivor"]), { timeout: 20_000 });
    expect(readdirSync(join(runtimeDirectory(), namespaceFolder("shared")))).toHaveLength(1);
    await end(survivor);
    await vi.waitFor(() => expect(present.size).toBe(0), { timeout: 20_000 });
    await iterator.return?.();
    await following;
  });

  it("drops a worker whose own process is killed while its publisher lives", async () => {
    const process = spawn("sleep", ["1000"]);
    children.push(process);
    await once(process, "spawn");
    const next = subscribe("shared");
    await open("shared").publisher.publish("worker-added", worker("a", process.pid));
    expect(await next()).toBe("added a");
    await end(process);
    expect(await next()).toBe("dropped a");
  });

  it("keeps namespaces apart", async () => {
    await Promise.all([startPublisher("one", "a"), startPublisher("two", "b")]);
    expect(await uidsIn("one")).toEqual(["a"]);
    expect(await uidsIn("two")).toEqual(["b"]);
  });

  it("gets every worker of publishers that write at once", async () => {
    const next = subscribe("shared");
    const uids = [0, 1, 2].map((publisher) => Array.from({ length: 20 }, (_, index) => `${publisher}-${index}`));
    await Promise.all(uids.map((own) => startPublisher("shared", ...own)));
    const seen = new Set<string>();
    for (let event = 0; event < 60; event++) seen.add(await next());
    expect(seen).toEqual(new Set(uids.flat().map((uid) => `added ${uid}`)));
  });

  it("survives processes that make and remove the directory all the time", async () => {
    const warn = vi.spyOn(process, "emitWarning");
    const next = subscribe("shared");
    const restless = [0, 1, 2].map((index) =>
      run(
        "shared",
        `for (let round = 0; round < 100; round++) {
           const other = new LocalDiscovery("shared");
           await other.publisher.publish("worker-added", worker("${index}-" + round));
           await other.dispose();
         }
         await discovery.publisher.publish("worker-added", worker("${index}-last"));
         process.on("disconnect", () => process.exit());
         await tell("done");`,
      ),
    );
    await Promise.all(restless.map((child) => once(child, "message")));
    const present = new Set<string>();
    while ([0, 1, 2].some((index) => !present.has(`${index}-last`))) {
      const [change, uid = ""] = (await next()).split(" ");
      if (change === "dropped") expect(present.delete(uid)).toBe(true);
      else present.add(uid);
    }
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  it("withdraws what a process published when that exits without disposing", async () => {
    const child = run("shared", `await discovery.publisher.publish("worker-added", worker("a")); process.exit(3);`);
    await once(child, "exit");
    expect(child.exitCode).toBe(3);
    expect(existsSync(join(runtimeDirectory(), namespaceFolder("shared")))).toBe(false);
  });

  it("keeps no program alive", async () => {
    const child = run(
      "shared",
      `await discovery.publisher.publish("worker-added", worker("a"));
       const events = discovery.subscribe()[Symbol.asyncIterator]();
       await events.next();
       void events.next();
       process.disconnect();`,
    );
    await once(child, "exit");
    expect(child.exitCode).toBe(0);
    expect(readdirSync(runtimeDirectory())).toEqual([]);
  });
});
