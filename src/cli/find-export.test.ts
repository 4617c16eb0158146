import { describe, expect, it } from "vitest";
import { UsageError } from "./command.ts";
import { findExport, listExports } from "./find-export.ts";

class Shop {
  static open(): void {}
  price(): number {
    return 1;
  }
  get total(): number {
    throw new Error("a getter was run");
  }
}
class Bakery extends Shop {}
const add = (): number => 1;
const hidden = (): number => 2;
const api = { add, hidden };
const namespace = { Shop, Bakery, add, api, shop: new Shop(), limit: 3, default: { hidden }, nothing: undefined };

describe("findExport", () => {
  it.each([
    ["add", add, undefined],
    ["api.hidden", hidden, api],
    ["Shop.open", Shop.open, Shop],
    ["Shop.prototype.price", Shop.prototype.price, Shop.prototype],
    ["Bakery.prototype.price", Shop.prototype.price, Bakery.prototype],
    ["default.hidden", hidden, namespace.default],
    ["hidden", hidden, namespace.default],
  ])("finds %s, and the object that holds it", (path, subject, holder) => {
    expect(findExport(namespace, path, "file")).toEqual({ path, subject, holder });
  });

  it("takes the getter of an accessor and does not run it", () => {
    const { subject } = findExport(namespace, "shop.total", "file");
    expect(subject).toBe(Object.getOwnPropertyDescriptor(Shop.prototype, "total")?.get);
  });

  it.each([
    ["ad", /^file has no export ad\. Did you mean add\? It exports: Shop, Bakery, add, /],
    [
      "Shop.prototype.prise",
      /^Shop\.prototype of file has no prise\. Did you mean price\? It has: constructor, price, total\.$/,
    ],
    ["limit", /^limit of file is a number, not a function, class or routine\.$/],
    ["api", /^api of file is an object, not a function, class or routine\. It holds: api\.add, api\.hidden\.$/],
    ["nothing.more", /^nothing of file is undefined, which has no more\.$/],
  ])("says what is wrong with %s", (path, message) => {
    expect(() => findExport(namespace, path, "file")).toThrow(UsageError);
    expect(() => findExport(namespace, path, "file")).toThrow(message);
  });
});

describe("listExports", () => {
  it("lists functions and members of plain objects, each once", () => {
    expect(listExports(namespace).map(({ path }) => path)).toEqual(["Shop", "Bakery", "add", "api.hidden"]);
  });

  it("leaves out what Node adds to a CommonJS module", () => {
    const exports = { first: add };
    expect(listExports({ __esModule: true, first: add, default: exports, "module.exports": exports })).toEqual([
      { path: "first", subject: add, holder: undefined },
    ]);
  });
});
