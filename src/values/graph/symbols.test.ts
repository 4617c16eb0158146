import { expect, it } from "vitest";
import { symbolId, symbolWithId } from "./symbols.ts";

it("finds the original at its origin", () => {
  const symbol = Symbol("a");
  expect(symbolWithId(symbolId(symbol), "a")).toBe(symbol);
});

it("makes one symbol for each id from elsewhere, which keeps that id", () => {
  const first = symbolWithId("elsewhere:1", "a");
  expect(symbolWithId("elsewhere:1", "a")).toBe(first);
  expect(symbolWithId("elsewhere:2", "a")).not.toBe(first);
  expect(first.description).toBe("a");
  expect(symbolId(first)).toBe("elsewhere:1");
});
