import { describe, expect, it } from "vitest";
import { isPlainArray } from "./plain-shape.ts";

describe.each([3, 31, 32, 5_000])("an array of %i", (length) => {
  const make = (): unknown[] => Array.from({ length }, (_, index) => ({ index }));

  it("of elements is plain", () => {
    expect(isPlainArray(make())).toBe(true);
    expect(isPlainArray(make().fill(undefined))).toBe(true);
    expect(isPlainArray(make().fill("x".repeat(100)))).toBe(true);
  });

  it.each<[string, (array: unknown[]) => unknown]>([
    ["a hole", (array) => Reflect.deleteProperty(array, 1)],
    [
      "a hole and a property to make up for it",
      (array) => Reflect.deleteProperty(Object.assign(array, { extra: 1 }), 1),
    ],
    ["another property", (array) => Object.assign(array, { extra: 1 })],
    ["a hidden property", (array) => Object.defineProperty(array, "extra", { value: 1 })],
    ["a symbol", (array) => Object.assign(array, { [Symbol("key")]: 1 })],
    ["a hidden symbol", (array) => Object.defineProperty(array, Symbol("key"), { value: 1 })],
    ["an accessor beside the elements", (array) => Object.defineProperty(array, "extra", { get: () => 1 })],
    ["no room for more", (array) => Object.preventExtensions(array)],
  ])("with %s is not", (_what, change) => {
    const array = make();
    change(array);
    expect(isPlainArray(array)).toBe(false);
  });
});
