import { inspect } from "node:util";
import { expect, it } from "vitest";
import { ReadOnlyMap } from "./read-only-map.ts";

it("shows what is in the map, as it changes", () => {
  const map = new Map([["a", 1]]);
  const view = new ReadOnlyMap(map);
  map.set("b", 2);
  expect([view.size, view.get("b"), view.has("a"), view.has("c")]).toEqual([2, 2, true, false]);
  expect([...view]).toEqual([...map]);
  expect([[...view.keys()], [...view.values()], [...view.entries()]]).toEqual([["a", "b"], [1, 2], [...map]]);
  const seen: unknown[] = [];
  view.forEach(function (this: unknown, ...args) {
    seen.push([this, ...args]);
  }, "self");
  expect(seen).toEqual([
    ["self", 1, "a", view],
    ["self", 2, "b", view],
  ]);
  expect(inspect(view)).toBe(inspect(map));
});

it("goes on with an iteration when entries come and go, as a map does", () => {
  const map = new Map([["a", 1]]);
  const keys = new ReadOnlyMap(map).keys();
  map.set("b", 2);
  expect([...keys]).toEqual(["a", "b"]);
});

it("cannot be changed, whatever it is taken for", () => {
  const map = new Map([["a", 1]]);
  const taken = new ReadOnlyMap(map) as unknown as Map<string, number>;
  expect(() => taken.set("b", 2)).toThrow(TypeError);
  expect(() => taken.delete("a")).toThrow(TypeError);
  expect(() => taken.clear()).toThrow(TypeError);
  expect(() => Map.prototype.set.call(taken, "b", 2)).toThrow(TypeError);
  expect(() => Object.assign(taken, { get: () => 5 })).toThrow(TypeError);
  taken.forEach((_value, _key, given) => expect(() => given.clear()).toThrow(TypeError));
  expect([...map]).toEqual([["a", 1]]);
});
