import { beforeEach, describe, expect, it, vi } from "vitest";
import { DiscoveryError } from "../../errors.ts";
import type { WorkerMetadata } from "../worker-metadata.ts";
import { RegistryDiscovery, type RegistryEvents, type RegistrySession } from "./registry-discovery.ts";

function worker(uid: string, ...tags: string[]): WorkerMetadata {
  return {
    uid,
    address: "10.0.0.1:1",
    pid: 1,
    version: "1",
    tags: new Set(tags),
    extra: {},
    secure: false,
    channel: {},
  };
}

/** A registry whose every step is decided by a test. */
class FakeRegistry {
  readonly entries = new Map<string, string>();
  /** Writes that the test has not released yet, by what they write. */
  readonly held: (() => void)[] = [];
  isHolding = false;
  /** How many writes fail. */
  refusals = 0;
  isUp = true;
  events: RegistryEvents | undefined;
  sessions = 0;
  data = "first";

  async connect(events: RegistryEvents): Promise<RegistrySession> {
    if (!this.isUp) throw new Error("connection refused");
    this.events = events;
    this.sessions++;
    const own = new Set<string>();
    return {
      localAddress: undefined,
      put: async (uid, text) => {
        if (this.refusals-- > 0) throw new Error("no leader");
        if (this.isHolding) await new Promise<void>((resolve) => this.held.push(resolve));
        const before = this.entries.get(uid);
        own.add(uid);
        this.entries.set(uid, text);
        return before;
      },
      remove: async (uid) => void this.entries.delete(uid),
      follow: async () => events.entries(new Map(this.entries), this.data),
      close: async () => {
        for (const uid of own) this.entries.delete(uid);
      },
      leave: () => undefined,
    };
  }
}

class FakeDiscovery extends RegistryDiscovery {
  constructor(registry: FakeRegistry, connectTimeout = 5000) {
    super({ what: "the registry at here:1", connectTimeout, connect: (events) => registry.connect(events) });
  }
}

let registry: FakeRegistry;
const warnings: string[] = [];

beforeEach(() => {
  registry = new FakeRegistry();
  warnings.length = 0;
  vi.spyOn(process, "emitWarning").mockImplementation((warning) => void warnings.push(String(warning)));
  return () => vi.restoreAllMocks();
});

const tagsIn = (uid: string) => (JSON.parse(registry.entries.get(uid) ?? "{}") as { tags?: string[] }).tags;

describe("RegistryDiscovery", () => {
  it("writes the newest word last, also while a new session writes everything again", async () => {
    const discovery = new FakeDiscovery(registry);
    await discovery.publisher.publish("worker-added", worker("a", "old"));
    registry.isHolding = true;
    registry.events?.lost(new Error("gone"));
    await vi.waitFor(() => expect(registry.held).toHaveLength(1));
    const updated = discovery.publisher.publish("worker-updated", worker("a", "new"));
    // The first write is still under way. A server may handle two writes in any order, but the newest must win.
    registry.isHolding = false;
    for (const release of registry.held.splice(0).toReversed()) release();
    await updated;
    expect(tagsIn("a")).toEqual(["new"]);
    await discovery.dispose();
  });

  it("leaves its entries where they are when a session fails, and writes them again", async () => {
    const discovery = new FakeDiscovery(registry);
    await discovery.publisher.publish("worker-added", worker("a"));
    await discovery.publisher.publish("worker-added", worker("b"));
    const kept = vi.spyOn(registry.entries, "delete");
    registry.refusals = 1;
    // The next session writes one of the two, and is given up. The one after it writes both.
    registry.events?.lost(new Error("gone"));
    await vi.waitFor(() => expect(registry.sessions).toBe(3));
    await vi.waitFor(() => expect(discovery.problem).toBeUndefined());
    expect(kept).not.toHaveBeenCalled();
    expect([...registry.entries.keys()]).toEqual(["a", "b"]);
    await discovery.dispose();
    expect([...registry.entries.keys()]).toEqual([]);
  });

  it("writes nothing after a worker was withdrawn", async () => {
    const discovery = new FakeDiscovery(registry);
    registry.isHolding = true;
    const added = discovery.publisher.publish("worker-added", worker("a"));
    await vi.waitFor(() => expect(registry.held).toHaveLength(1));
    const dropped = discovery.publisher.publish("worker-dropped", worker("a"));
    for (const release of registry.held.splice(0)) release();
    await Promise.all([added, dropped]);
    expect([...registry.entries.keys()]).toEqual([]);
  });

  it("publishes once the registry is there, and gives up when it is not in time", async () => {
    registry.isUp = false;
    const patient = new FakeDiscovery(registry);
    const published = patient.publisher.publish("worker-added", worker("a"));
    await vi.waitFor(() => expect(warnings).toHaveLength(1));
    expect(patient.problem).toBe("the registry at here:1 cannot be reached: connection refused");
    registry.isUp = true;
    await published;
    expect(patient.problem).toBeUndefined();
    await patient.dispose();
    registry.isUp = false;
    const hasty = new FakeDiscovery(registry, 50);
    await expect(hasty.publisher.publish("worker-added", worker("a"))).rejects.toThrow(DiscoveryError);
    // It must not be announced later without the caller's knowledge.
    const { sessions } = registry;
    registry.isUp = true;
    await hasty.dispose();
    expect(registry.sessions).toBe(sessions);
  });

  it("tries again at once, however long the next pause would be, when somebody has something to publish", async () => {
    vi.useFakeTimers();
    try {
      registry.isUp = false;
      const discovery = new FakeDiscovery(registry, 2000);
      const iterator = discovery.subscribe()[Symbol.asyncIterator]();
      void iterator.next();
      // By now it pauses for more than two seconds.
      await vi.advanceTimersByTimeAsync(30_000);
      registry.isUp = true;
      await discovery.publisher.publish("worker-added", worker("a"));
      registry.isUp = false;
      registry.events?.lost(new Error("gone"));
      await vi.advanceTimersByTimeAsync(30_000);
      const published = discovery.publisher.publish("worker-updated", worker("a", "late"));
      await vi.advanceTimersByTimeAsync(1500);
      registry.isUp = true;
      await vi.advanceTimersByTimeAsync(499);
      await published;
      expect(tagsIn("a")).toEqual(["late"]);
      await iterator.return?.();
      await discovery.dispose();
    } finally {
      vi.useRealTimers();
    }
  });

  it("says once that the registry is gone, and again only when it was back", async () => {
    const discovery = new FakeDiscovery(registry);
    const iterator = discovery.subscribe()[Symbol.asyncIterator]();
    const first = iterator.next();
    await discovery.publisher.publish("worker-added", worker("a"));
    expect((await first).value).toMatchObject({ type: "worker-added", worker: { uid: "a" } });
    for (const times of [1, 2]) {
      const { sessions } = registry;
      registry.isUp = false;
      registry.events?.lost(new Error("gone"));
      expect(warnings).toHaveLength(times);
      registry.isUp = true;
      await vi.waitFor(() => expect(registry.sessions).toBeGreaterThan(sessions));
      await vi.waitFor(() => expect(discovery.problem).toBeUndefined());
    }
    await iterator.return?.();
    await discovery.dispose();
  });

  describe("whose registry is back after it was gone", () => {
    /** A subscription that knows workers a and b, which others published, when its registry is lost. */
    async function subscribed(): Promise<{ discovery: FakeDiscovery; known: Set<string>; lose: () => Promise<void> }> {
      const text = (uid: string) => JSON.stringify({ ...worker(uid), tags: [] });
      for (const uid of ["a", "b"]) registry.entries.set(uid, text(uid));
      const discovery = new FakeDiscovery(registry);
      const known = new Set<string>();
      void (async () => {
        for await (const { type, worker: of } of discovery.subscribe()) {
          if (type === "worker-dropped") known.delete(of.uid);
          else known.add(of.uid);
        }
      })();
      await vi.waitFor(() => expect(known.size).toBe(2));
      const lose = async () => {
        registry.events?.lost(new Error("gone"));
        await vi.advanceTimersByTimeAsync(12_000);
      };
      return { discovery, known, lose };
    }

    beforeEach(() => {
      vi.useFakeTimers();
      return () => vi.useRealTimers();
    });

    it("drops what was taken back meanwhile, at once", async () => {
      const { discovery, known, lose } = await subscribed();
      registry.entries.delete("a");
      await lose();
      expect([...known]).toEqual(["b"]);
      await discovery.dispose();
    });

    it("keeps what the registry has lost until others have had the time to write it again", async () => {
      const { discovery, known, lose } = await subscribed();
      const text = registry.entries.get("a") ?? "";
      registry.entries.clear();
      registry.data = "second";
      await lose();
      expect([...known]).toEqual(["a", "b"]);
      registry.events?.changed("a", text);
      // Without a registry nobody can write anything.
      registry.isUp = false;
      await lose();
      await lose();
      expect([...known]).toEqual(["a", "b"]);
      registry.isUp = true;
      registry.entries.set("a", text);
      await vi.advanceTimersByTimeAsync(12_000);
      expect(discovery.problem).toBeUndefined();
      await vi.advanceTimersByTimeAsync(15_000);
      expect([...known]).toEqual(["a"]);
      await discovery.dispose();
    });
  });

  it("leaves the registry when nobody needs it, and comes back", async () => {
    const discovery = new FakeDiscovery(registry);
    await discovery.publisher.publish("worker-added", worker("a"));
    await discovery.publisher.publish("worker-dropped", worker("a"));
    await discovery.publisher.publish("worker-added", worker("b"));
    expect(registry.sessions).toBe(2);
    await discovery.dispose();
    await expect(discovery.publisher.publish("worker-added", worker("c"))).rejects.toThrow("was disposed of");
    expect(() => discovery.subscribe()).toThrow("was disposed of");
  });
});
