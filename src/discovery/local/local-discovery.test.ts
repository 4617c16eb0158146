import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { InvalidArgument, WoolError } from "../../errors.ts";
import { currentProcess, runtimeDirectory } from "../../host/index.ts";
import type { DiscoveryEvent, WorkerFilter } from "../discovery.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { LocalDiscovery, type LocalDiscoveryOptions } from "./local-discovery.ts";
import { formatEntry, namespaceFolder } from "./local-entry.ts";

/** So long that everything a test sees was reported by the file system. */
const NEVER = 2 ** 31 - 1;
const OFTEN = 10;

let scratch: string;
const opened: LocalDiscovery[] = [];
const iterators: AsyncIterator<DiscoveryEvent>[] = [];

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-test-"));
  vi.stubEnv("XDG_RUNTIME_DIR", scratch);
});

afterEach(async () => {
  for (const iterator of iterators.splice(0)) await iterator.return?.();
  for (const discovery of opened.splice(0)) await discovery.dispose();
  const left = readdirSync(runtimeDirectory());
  vi.unstubAllEnvs();
  rmSync(scratch, { recursive: true, force: true });
  expect(left).toEqual([]);
});

function open(namespace = "test", options: LocalDiscoveryOptions = {}): LocalDiscovery {
  const discovery = new LocalDiscovery(namespace, { pollInterval: NEVER, ...options });
  opened.push(discovery);
  return discovery;
}

function subscribe(discovery: LocalDiscovery, filter?: WorkerFilter): () => Promise<string> {
  const iterator = discovery.subscribe(filter)[Symbol.asyncIterator]();
  iterators.push(iterator);
  return async () => {
    const { done, value } = await iterator.next();
    return done === true ? "end" : `${value.type.slice("worker-".length)} ${value.worker.uid}`;
  };
}

function worker(uid: string, ...tags: string[]): WorkerMetadata {
  return {
    uid,
    address: `unix:/run/${uid}`,
    pid: process.pid,
    version: "1",
    tags: new Set(tags),
    extra: { k: "v" },
    secure: false,
    channel: { threads: 2 },
  };
}

function folderOf(namespace: string, root = runtimeDirectory()): string {
  return join(root, namespaceFolder(namespace));
}

describe("LocalDiscovery", () => {
  it("tells subscribers what is published, in full", async () => {
    const iterator = open().subscribe()[Symbol.asyncIterator]();
    iterators.push(iterator);
    const event = iterator.next();
    await open().publisher.publish("worker-added", worker("a", "gpu"));
    expect((await event).value).toEqual({ type: "worker-added", worker: worker("a", "gpu") });
  });

  it("tells of updates and drops, and not of repetitions", async () => {
    const { publisher } = open();
    const next = subscribe(open());
    await publisher.publish("worker-added", worker("a"));
    expect(await next()).toBe("added a");
    await publisher.publish("worker-added", worker("a"));
    await publisher.publish("worker-updated", worker("a"));
    await publisher.publish("worker-dropped", worker("never-there"));
    await publisher.publish("worker-updated", worker("a", "gpu"));
    expect(await next()).toBe("updated a");
    await publisher.publish("worker-dropped", worker("a"));
    expect(await next()).toBe("dropped a");
    await publisher.publish("worker-updated", worker("b"));
    expect(await next()).toBe("added b");
  });

  it("gives a late subscriber the current state", async () => {
    const discovery = open();
    for (const uid of ["a", "b", "c"]) await discovery.publisher.publish("worker-added", worker(uid));
    await discovery.publisher.publish("worker-dropped", worker("b"));
    const next = subscribe(open());
    expect([await next(), await next()].sort()).toEqual(["added a", "added c"]);
    expect((await open().snapshot()).map(({ uid }) => uid).sort()).toEqual(["a", "c"]);
  });

  it("keeps namespaces apart, whatever their names hold", async () => {
    const names = ["a", "A", "../a", "a/b", "ä \u0000 💡", "x".repeat(5000)];
    for (const name of names) await open(name).publisher.publish("worker-added", worker(`worker of ${name}`));
    for (const name of names) {
      expect((await open(name).snapshot()).map(({ uid }) => uid)).toEqual([`worker of ${name}`]);
    }
  });

  it("turns updates into added and dropped where they cross the filter", async () => {
    const { publisher } = open();
    const next = subscribe(open(), ({ tags }) => tags.has("gpu"));
    await publisher.publish("worker-added", worker("a"));
    await publisher.publish("worker-updated", worker("a", "gpu"));
    expect(await next()).toBe("added a");
    await publisher.publish("worker-updated", worker("a"));
    expect(await next()).toBe("dropped a");
  });

  it("ends with what the filter throws, and asks it no more", async () => {
    const { publisher } = open();
    const filter = vi.fn(({ tags }: WorkerMetadata) => {
      if (tags.has("bad")) throw new Error("bad filter");
      return true;
    });
    const next = subscribe(open("test", { pollInterval: OFTEN }), filter);
    await publisher.publish("worker-added", worker("a"));
    expect(await next()).toBe("added a");
    await publisher.publish("worker-updated", worker("a", "bad"));
    await expect(next()).rejects.toThrow("bad filter");
    filter.mockClear();
    const other = subscribe(open("test", { pollInterval: OFTEN }));
    await publisher.publish("worker-updated", worker("a", "good"));
    expect(await other()).toBe("added a");
    await publisher.publish("worker-updated", worker("a", "better"));
    expect(await other()).toBe("updated a");
    expect(await next()).toBe("end");
    expect(filter).not.toHaveBeenCalled();
  });

  it("lets the newest word count where several publish one worker, and any drop end it", async () => {
    const [first, second] = [open(), open()];
    await first.publisher.publish("worker-added", worker("a", "first"));
    await second.publisher.publish("worker-added", worker("a", "second"));
    const tags = async () => (await open().snapshot()).map((found) => [...found.tags]);
    await vi.waitFor(async () => {
      await second.publisher.publish("worker-updated", worker("a", "second"));
      expect(await tags()).toEqual([["second"]]);
    });
    await second.dispose();
    expect(await tags()).toEqual([["first"]]);
    await second.publisher.publish("worker-dropped", worker("a"));
    expect(await tags()).toEqual([]);
  });

  it("keeps up with many publishers at once", async () => {
    const next = subscribe(open());
    const publishers = Array.from({ length: 8 }, () => open().publisher);
    const uids = publishers.flatMap((_, p) => Array.from({ length: 5 }, (_unused, w) => `${p}-${w}`));
    await Promise.all(
      uids.map(async (uid, index) => publishers[Math.floor(index / 5)]?.publish("worker-added", worker(uid))),
    );
    const seen = new Set<string>();
    for (let event = 0; event < uids.length; event++) seen.add(await next());
    expect(seen).toEqual(new Set(uids.map((uid) => `added ${uid}`)));
  });

  it("goes on when its directory vanishes and comes back", async () => {
    const next = subscribe(open());
    for (const uid of ["a", "b", "c"]) {
      const discovery = open();
      await discovery.publisher.publish("worker-added", worker(uid));
      expect(await next()).toBe(`added ${uid}`);
      await discovery.dispose();
      rmSync(folderOf("test"), { recursive: true, force: true });
      expect(await next()).toBe(`dropped ${uid}`);
    }
  });

  it("removes entries of dead processes, and half-written ones, from all namespaces", async () => {
    const dead = { ...currentProcess(), startTime: "1" };
    const entry = { namespace: "test", revision: 1, worker: worker("dead"), processes: [currentProcess(), dead] };
    for (const namespace of ["test", "forgotten"]) {
      mkdirSync(folderOf(namespace), { mode: 0o700 });
      writeFileSync(join(folderOf(namespace), "0.x.json"), formatEntry(entry));
      writeFileSync(join(folderOf(namespace), `.${2 ** 22 + 1}.x`), "{");
    }
    const { publisher } = open();
    await publisher.publish("worker-added", worker("alive"));
    expect(await subscribe(open())()).toBe("added alive");
    expect(readdirSync(folderOf("test"))).toHaveLength(1);
    expect(existsSync(folderOf("forgotten"))).toBe(false);
  });

  it("ignores files that are no entries, and entries of another namespace", async () => {
    const { publisher } = open();
    await publisher.publish("worker-added", worker("a"));
    const processes = [currentProcess()];
    const valid = { namespace: "test", revision: 1, worker: worker("b"), processes };
    const texts = [
      "",
      "{",
      "null",
      "[]",
      JSON.stringify({ ...valid, worker: {} }),
      formatEntry({ ...valid, processes: [] }),
      formatEntry({ ...valid, namespace: "other" }),
    ];
    texts.forEach((text, index) => writeFileSync(join(folderOf("test"), `${index}.x.json`), text));
    expect((await open().snapshot()).map(({ uid }) => uid)).toEqual(["a"]);
    rmSync(folderOf("test"), { recursive: true });
  });

  it("keeps the workers it knew while it cannot look, says so once, and recovers", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    try {
      const { publisher } = open();
      const next = subscribe(open("test", { pollInterval: OFTEN }));
      await publisher.publish("worker-added", worker("a"));
      expect(await next()).toBe("added a");
      const obstacle = join(folderOf("test"), "0.x.json");
      mkdirSync(obstacle);
      await publisher.publish("worker-dropped", worker("a"));
      await publisher.publish("worker-added", worker("b"));
      await vi.waitFor(() => expect(warn).toHaveBeenCalled(), { timeout: 20_000 });
      rmSync(obstacle, { recursive: true });
      expect([await next(), await next()]).toEqual(["dropped a", "added b"]);
      expect(warn).toHaveBeenCalledTimes(1);
      expect(warn.mock.calls[0]?.[0]).toMatch('the local namespace "test" cannot be read');
    } finally {
      warn.mockRestore();
    }
  });

  it("fails for a directory that others can enter", async () => {
    mkdirSync(folderOf("test"));
    chmodSync(folderOf("test"), 0o755);
    writeFileSync(join(folderOf("test"), "planted"), "");
    await expect(subscribe(open())()).rejects.toThrow(WoolError);
    await expect(open().snapshot()).rejects.toThrow(WoolError);
    await expect(open().publisher.publish("worker-added", worker("a"))).rejects.toThrow("lets other users in");
    rmSync(folderOf("test"), { recursive: true });
  });

  it("lives in a directory of the caller's, and does not bring it back", async () => {
    const directory = mkdtempSync(join(scratch, "pool-"));
    const discovery = open("test", { directory });
    const next = subscribe(open("test", { directory, pollInterval: OFTEN }));
    await discovery.publisher.publish("worker-added", worker("a"));
    expect(await next()).toBe("added a");
    expect(readdirSync(directory)).toEqual([namespaceFolder("test")]);
    expect(await open("test").snapshot()).toEqual([]);

    rmSync(directory, { recursive: true });
    expect(await next()).toBe("dropped a");
    await expect(discovery.publisher.publish("worker-added", worker("b"))).rejects.toThrow(
      'worker b could not be announced in the local namespace "test"',
    );
    expect(existsSync(directory)).toBe(false);
  });

  it("ends subscriptions and withdraws its own entries when disposed of", async () => {
    const [first, second] = [open(), open()];
    await first.publisher.publish("worker-added", worker("a"));
    await second.publisher.publish("worker-added", worker("b"));
    const next = subscribe(first);
    expect([await next(), await next()].sort()).toEqual(["added a", "added b"]);
    const [pending, notBegun] = [next(), subscribe(first)];
    await first.dispose();
    expect(await pending).toBe("end");
    expect(await notBegun()).toBe("end");
    expect((await second.snapshot()).map(({ uid }) => uid)).toEqual(["b"]);
    await expect(first.publisher.publish("worker-added", worker("c"))).rejects.toThrow("was disposed of");
    expect(() => first.subscribe()).toThrow("was disposed of");
    await second.dispose();
    expect(readdirSync(runtimeDirectory())).toEqual([]);
  });

  it("refuses what makes no sense", async () => {
    expect(() => new LocalDiscovery("")).toThrow(InvalidArgument);
    expect(() => new LocalDiscovery("x", { pollInterval: -1 })).toThrow(
      'option "pollInterval" must be a number of milliseconds, zero or more, not -1',
    );
    expect(() => new LocalDiscovery("x", { pollInterval: Number.NaN })).toThrow(InvalidArgument);
    const misspelt: object = { pollinterval: 5 };
    expect(() => new LocalDiscovery("x", misspelt)).toThrow(
      new InvalidArgument('LocalDiscovery has no option "pollinterval"; did you mean "pollInterval"?'),
    );
    const { publisher } = open();
    await expect(publisher.publish("worker-added", { ...worker("a"), address: "nowhere" })).rejects.toThrow(
      InvalidArgument,
    );
    // @ts-expect-error There is no such event.
    await expect(publisher.publish("added", worker("a"))).rejects.toThrow(
      'option "type" must be "worker-added", "worker-updated" or "worker-dropped", not "added"',
    );
  });
});
