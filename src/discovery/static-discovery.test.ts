import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { StaticDiscovery } from "./static-discovery.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

const described: WorkerMetadata = {
  uid: "w1",
  address: "unix:/run/w1.sock",
  pid: 7,
  version: "1.2.3",
  tags: new Set(["gpu"]),
  extra: {},
  secure: true,
  channel: {},
};

describe("StaticDiscovery", () => {
  it("adds its workers and then waits", async () => {
    const events = new StaticDiscovery([described, "127.0.0.1:1"]).subscribe()[Symbol.asyncIterator]();
    expect((await events.next()).value).toEqual({ type: "worker-added", worker: described });
    expect((await events.next()).value).toMatchObject({
      type: "worker-added",
      worker: { uid: "127.0.0.1:1", address: "127.0.0.1:1", secure: false },
    });
    const pending = events.next();
    await events.return?.();
    expect((await pending).done).toBe(true);
  });

  it("takes what the filter lets pass", async () => {
    const discovery = new StaticDiscovery([described, "host:1"], { secure: true });
    const events = discovery.subscribe(({ tags }) => tags.size === 0)[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ worker: { uid: "host:1", secure: true } });
    await events.return?.();
  });

  it("refuses what is no address or worker", () => {
    expect(() => new StaticDiscovery(["host"])).toThrow('the worker address "host" is neither');
    expect(() => new StaticDiscovery([{ ...described, pid: -1 }])).toThrow(InvalidArgument);
    // @ts-expect-error A list is needed also for one worker.
    expect(() => new StaticDiscovery("host:1")).toThrow("takes an array of addresses");
  });
});
