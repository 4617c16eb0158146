import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { DiscoveryEvent, WorkerFilter } from "./discovery.ts";
import { KnownWorkers } from "./known-workers.ts";
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
const anyFilter = fc
  .option(fc.constantFrom("gpu", "cpu"), { nil: undefined })
  .map((tag): WorkerFilter | undefined => (tag === undefined ? undefined : ({ tags }) => tags.has(tag)));

/** Follows events as a pool does, and fails on an event that is impossible at that point. */
function makeFollower(filter: WorkerFilter | undefined) {
  const workers = new Map<string, WorkerMetadata>();
  const events: DiscoveryEvent[] = [];
  const known = new KnownWorkers(filter, (event) => {
    const { type, worker } = event;
    events.push(event);
    expect(workers.has(worker.uid)).toBe(type !== "worker-added");
    if (type === "worker-dropped") workers.delete(worker.uid);
    else workers.set(worker.uid, worker);
  });
  return { known, workers, takeEvents: () => events.splice(0) };
}

describe("KnownWorkers", () => {
  it("lead a follower through any sequence of states, with at most one event a worker and step", () => {
    fc.assert(
      fc.property(fc.array(anyWorkers), anyFilter, (states, filter) => {
        const { known, workers, takeEvents } = makeFollower(filter);
        for (const state of states) {
          known.replace(state);
          const last = new Map(state.map((worker) => [worker.uid, worker]));
          expect([...workers.values()]).toEqual(
            expect.arrayContaining([...last.values()].filter((worker) => filter?.(worker) ?? true)),
          );
          expect(workers.size).toBe([...last.values()].filter((worker) => filter?.(worker) ?? true).length);
          const events = takeEvents();
          expect(new Set(events.map(({ worker }) => worker.uid)).size).toBe(events.length);
        }
      }),
    );
  });

  it("lead a follower to the same end by single changes as by states", () => {
    fc.assert(
      fc.property(fc.array(anyWorker), fc.array(fc.constantFrom("a", "b")), anyFilter, (changes, drops, filter) => {
        const [single, whole] = [makeFollower(filter), makeFollower(filter)];
        for (const worker of changes) single.known.change(worker);
        for (const uid of drops) single.known.drop(uid);
        const last = new Map(changes.map((worker) => [worker.uid, worker]));
        whole.known.replace([...last.values()].filter(({ uid }) => !drops.some((dropped) => dropped === uid)));
        expect(single.workers).toEqual(whole.workers);
      }),
    );
  });

  it("are silent when nothing changed", () => {
    fc.assert(
      fc.property(anyWorkers, (state) => {
        const { known, takeEvents } = makeFollower(undefined);
        known.replace(state);
        takeEvents();
        const copy = state.map((worker) => ({ ...worker, tags: new Set([...worker.tags].toReversed()) }));
        known.replace(copy);
        for (const worker of new Map(copy.map((each) => [each.uid, each])).values()) known.change(worker);
        expect(takeEvents()).toEqual([]);
      }),
    );
  });

  it("drop with the last that was known, before they add", () => {
    const { known, takeEvents } = makeFollower(undefined);
    const [old, replacement] = [worker("old"), worker("new")];
    known.replace([old]);
    takeEvents();
    known.replace([replacement]);
    expect(takeEvents()).toEqual([
      { type: "worker-dropped", worker: old },
      { type: "worker-added", worker: replacement },
    ]);
  });

  it("take the last of several with one uid, before the filter looks", () => {
    const hidden = { ...worker("a"), secure: true };
    const { known, workers } = makeFollower(({ secure }) => !secure);
    known.replace([worker("a"), hidden]);
    expect(workers).toEqual(new Map());
  });
});

function worker(uid: string): WorkerMetadata {
  return { uid, address: "host:1", pid: 0, version: "1", tags: new Set(), extra: {}, secure: false, channel: {} };
}
