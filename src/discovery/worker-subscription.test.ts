import { describe, expect, it, vi } from "vitest";
import type { WorkerFilter } from "./discovery.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";
import { subscribeToWorkers, type WorkerSink } from "./worker-subscription.ts";

function worker(uid: string, ...tags: string[]): WorkerMetadata {
  return { uid, address: "host:1", pid: 0, version: "1", tags: new Set(tags), extra: {}, secure: false, channel: {} };
}

/** The events of a subscription that gets these states one after the other, as `type uid`. */
async function eventsOf(states: WorkerMetadata[][], filter?: WorkerFilter): Promise<string[]> {
  const subscriber = subscribeToWorkers((sink) => {
    for (const state of states) sink.update(state);
    sink.end();
    return () => {};
  }, filter);
  const events: string[] = [];
  for await (const event of subscriber) events.push(`${event.type.slice("worker-".length)} ${event.worker.uid}`);
  return events;
}

describe("subscribeToWorkers", () => {
  it("tells of changes, and only of changes", async () => {
    const states = [[], [worker("a")], [worker("a")], [worker("a", "x"), worker("b")], [worker("b")], [worker("b")]];
    expect(await eventsOf(states)).toEqual(["added a", "updated a", "added b", "dropped a"]);
  });

  it("turns updates into added and dropped where they cross the filter", async () => {
    const states = [[worker("a")], [worker("a", "gpu")], [worker("a", "gpu", "big")], [worker("a")], []];
    expect(await eventsOf(states, ({ tags }) => tags.has("gpu"))).toEqual(["added a", "updated a", "dropped a"]);
  });

  it("gives each iteration its own beginning", async () => {
    const release = vi.fn();
    const sinks: WorkerSink[] = [];
    const subscriber = subscribeToWorkers((sink) => {
      sinks.push(sink);
      sink.update([worker("a")]);
      return release;
    });
    const iterations = [subscriber[Symbol.asyncIterator](), subscriber[Symbol.asyncIterator]()];
    expect(sinks).toHaveLength(0);
    for (const iteration of iterations) {
      expect((await iteration.next()).value).toEqual({ type: "worker-added", worker: worker("a") });
    }
    expect(sinks).toHaveLength(2);
    await iterations[0]?.return?.();
    expect(release).toHaveBeenCalledTimes(1);
    sinks[1]?.update([]);
    expect((await iterations[1]?.next())?.value).toEqual({ type: "worker-dropped", worker: worker("a") });
    await iterations[1]?.return?.();
    expect(release).toHaveBeenCalledTimes(2);
  });

  it("ends with what the filter throws", async () => {
    const failing = eventsOf([[worker("a")]], () => {
      throw new Error("bad filter");
    });
    await expect(failing).rejects.toThrow("bad filter");
  });
});
