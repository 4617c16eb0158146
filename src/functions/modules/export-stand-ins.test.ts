import { expect, test } from "vitest";
import { dependencyOf } from "../shipment/index.ts";
import { openStandIn } from "./export-stand-ins.ts";

test("the object that stands for a compiled module hides what the module hides", () => {
  const exports = Object.defineProperty({ a: 1 }, "__esModule", { value: true });
  const module = dependencyOf({ kind: "module", file: "m.js" });
  const standIn = openStandIn(exports, { form: "interop", module, path: [], hasDefault: false, hasMembers: true });
  expect(Object.keys(standIn)).toEqual(["a"]);
  expect(Reflect.get(standIn, "__esModule")).toBe(true);
});
