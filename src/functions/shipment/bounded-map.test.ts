import { expect, test } from "vitest";
import { BoundedMap } from "./bounded-map.ts";

test("forgets the oldest", () => {
  const map = new BoundedMap<string, number>(2);
  map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
  expect([...map]).toEqual([
    ["b", 2],
    ["c", 4],
  ]);
});

test("forgets the oldest when all weigh too much, and keeps the last", () => {
  const map = new BoundedMap<string, string>(10, { most: 5, weigh: ({ length }) => length });
  map.set("a", "xx").set("b", "xx").set("a", "x").set("c", "xx");
  expect([...map.keys()]).toEqual(["a", "b", "c"]);
  map.set("d", "x");
  expect([...map.keys()]).toEqual(["b", "c", "d"]);
  map.delete("c");
  map.set("e", "xx");
  expect([...map.keys()]).toEqual(["b", "d", "e"]);
  map.set("f", "x".repeat(100));
  expect([...map.keys()]).toEqual(["f"]);
  map.clear();
  map.set("g", "xxxxx");
  expect([...map.keys()]).toEqual(["g"]);
});

test("keeps what is in use", () => {
  const map = new BoundedMap<string, number>(4);
  map.set("a", 1).set("b", 2).set("c", 3).set("d", 4);
  expect(map.use("a")).toBe(1);
  expect(map.use("none")).toBeUndefined();
  map.set("e", 5);
  expect([...map.keys()]).toEqual(["c", "d", "a", "e"]);
});
