import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DiscoveryEvent } from "./discovery.ts";
import { diffWorkers, mapWorkers, type WorkerMap } from "./worker-diff.ts";
import type { WorkerMetadata } from "./worker-metadata.ts";

const anyWorker: fc.Arbitrary<WorkerMetadata> = fc.record({
  uid: fc.constantFrom("a", "b", "c", "d"),
  address: fc.constantFrom("host:1", "host:2"),
  pid: fc.constant(0),
  version: fc.constant("1"),
  tags: fc.subarray(["gpu", "cpu"]).map((tags) => new Set(tags)),
  extra: fc.constant({}),
  secure: fc.boolean(),
  channel: fc.constant({}),
});

const anyWorkers = fc.array(anyWorker, { maxLength: 6 });

/** Follows events as a pool does, and fails on one that makes no sense at its point. */
function follow(known: WorkerMap, events: readonly DiscoveryEvent[]): WorkerMap {
  const workers = new Map(known);
  for (const { type, worker } of events) {
    expect(workers.has(worker.uid)).toBe(type !== "worker-added");
    if (type === "worker-dropped") workers.delete(worker.uid);
    else workers.set(worker.uid, worker);
  }
  return workers;
}

describe("diffWorkers", () => {
  it("leads a follower through any sequence of states, with at most one event a worker and step", () => {
    fc.assert(
      fc.property(fc.array(anyWorkers), fc.option(fc.constantFrom("gpu", "cpu")), (states, tag) => {
        const filter = tag === null ? undefined : (worker: WorkerMetadata) => worker.tags.has(tag);
        let before: WorkerMap = new Map();
        let followed: WorkerMap = new Map();
        for (const state of states) {
          const after = mapWorkers(state, filter);
          const events = diffWorkers(before, after);
          followed = follow(followed, events);
          expect(followed).toEqual(after);
          expect(new Set(events.map(({ worker }) => worker.uid)).size).toBe(events.length);
          before = after;
        }
      }),
    );
  });

  it("is silent when nothing changed", () => {
    fc.assert(
      fc.property(anyWorkers, (state) => {
        const copy = state.map((worker) => ({ ...worker, tags: new Set([...worker.tags].toReversed()) }));
        expect(diffWorkers(mapWorkers(state), mapWorkers(copy))).toEqual([]);
      }),
    );
  });

  it("drops with the last that was known, before it adds", () => {
    const old = worker("old");
    const replacement = worker("new");
    expect(diffWorkers(mapWorkers([old]), mapWorkers([replacement]))).toEqual([
      { type: "worker-dropped", worker: old },
      { type: "worker-added", worker: replacement },
    ]);
  });
});

describe("mapWorkers", () => {
  it("takes the last of several with one uid, before the filter looks", () => {
    const hidden = { ...worker("a"), secure: true };
    expect(mapWorkers([worker("a"), hidden])).toEqual(new Map([["a", hidden]]));
    expect(mapWorkers([worker("a"), hidden], ({ secure }) => !secure)).toEqual(new Map());
  });
});

function worker(uid: string): WorkerMetadata {
  return { uid, address: "host:1", pid: 0, version: "1", tags: new Set(), extra: {}, secure: false, channel: {} };
}
