import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RunningTask } from "./running-task.ts";
import { TaskTable } from "./task-table.ts";

const id = fc.oneof(fc.nat(5), fc.constantFrom(65_535, 65_536, 65_537, 2 ** 31, 2 ** 53 - 1));

describe("TaskTable", () => {
  it("is a map", () => {
    const change = fc.record({ add: fc.boolean(), id });
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const table = new TaskTable();
        const model = new Map<number, RunningTask>();
        for (const { add, id } of changes) {
          const task = { wireId: id } as RunningTask;
          if (add) {
            table.set(id, task);
            model.set(id, task);
          } else {
            table.delete(id);
            model.delete(id);
          }
          expect(table.get(id)).toBe(model.get(id));
          expect(new Set(table.list())).toEqual(new Set(model.values()));
          expect(table.list()).toHaveLength(model.size);
          const isEven = ({ wireId }: RunningTask) => wireId % 2 === 0;
          expect(table.every(isEven)).toBe([...model.values()].every(isEven));
        }
      }),
      { numRuns: 50 },
    );
  });

  it("lists what there is at that moment", () => {
    const table = new TaskTable();
    table.set(0, { wireId: 0 } as RunningTask);
    const listed = table.list();
    table.delete(0);
    expect(listed).toHaveLength(1);
    expect(table.list()).toEqual([]);
  });

  it("knows nobody at first", () => {
    expect(new TaskTable().get(0)).toBeUndefined();
    expect(new TaskTable().get(70_000)).toBeUndefined();
  });
});
