import { describe, expect, it } from "vitest";
import { BulkQueue } from "./bulk-queue.ts";

const MIB = 1024 * 1024;

/** A payload of any size: the system provides no memory for pages that are never used. */
function bulk(id: number, bytes: number) {
  return { id, payload: new Uint8Array(new ArrayBuffer(bytes)), offset: 0, finish: () => undefined };
}

/** The ids of the payloads that take turns. */
function underWay(queue: BulkQueue): number[] {
  const ids: number[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) {
    queue.putBack(next);
    if (ids.includes(next.id)) break;
    ids.push(next.id);
  }
  return ids;
}

describe("BulkQueue", () => {
  it("gives payloads their turns", () => {
    const queue = new BulkQueue();
    for (let id = 0; id < 3; id++) queue.add(bulk(id, MIB));
    expect(underWay(queue)).toEqual([0, 1, 2]);
  });

  it("has no more under way than peers take, and lets small ones pass large ones", () => {
    const queue = new BulkQueue();
    for (let id = 0; id < 4; id++) queue.add(bulk(id, 300 * MIB));
    queue.add(bulk(4, MIB));
    queue.add(bulk(5, 127 * MIB));
    queue.add(bulk(6, MIB));
    expect(underWay(queue)).toEqual([0, 4, 5]);
    expect(queue.queuedBytes).toBe((3 * 300 + 1 + 127 + 1) * MIB);
    queue.remove(0);
    expect(underWay(queue)).toContain(1);
    queue.remove(1);
    queue.remove(2);
    expect(underWay(queue).sort()).toEqual([3, 4, 5]);
    queue.remove(5);
    expect(underWay(queue).sort()).toEqual([3, 4, 6]);
  });

  it("has at most 64 under way", () => {
    const queue = new BulkQueue();
    for (let id = 0; id < 200; id++) queue.add(bulk(id, 1));
    expect(underWay(queue).length).toBe(64);
    expect(queue.size).toBe(200);
  });
});
