import { expect, test } from "vitest";
import { acceptDependency, assemble, dismantle, hasDependency, ModuleUnavailable } from "../index.ts";
import { dependencyOf } from "../shipment/content-hash.ts";

test("keeps code by its hash", () => {
  const { dependencies, head } = dismantle((x: number) => x + 1);
  const [code] = dependencies;
  if (code === undefined) throw new Error("no code");
  expect(hasDependency(code.hash)).toBe(false);
  expect(() => assemble({ ...Object(head), id: "elsewhere:1" }, [])).toThrow("must be sent again");
  void acceptDependency(code);
  expect(hasDependency(code.hash)).toBe(true);
  const { value, complete } = assemble({ ...Object(head), id: "elsewhere:1" }, []);
  complete([]);
  expect(Reflect.apply(value as () => number, undefined, [1])).toBe(2);
});

test("two functions made at one place are one piece of code", () => {
  const make = (step: number) => (x: number) => x + step;
  const [one, other] = [dismantle(make(1)), dismantle(make(2))];
  expect(one.dependencies[0]?.hash).toBe(other.dependencies[0]?.hash);
  expect([one.parts, other.parts]).toEqual([[1], [2]]);
});

test("names a module that cannot be loaded", async () => {
  const missing = dependencyOf({ kind: "module", specifier: "a-package-that-is-not-there" });
  const refused = Promise.resolve(acceptDependency(missing));
  await expect(refused).rejects.toThrow(/"a-package-that-is-not-there" cannot be loaded/);
  await expect(refused).rejects.toBeInstanceOf(ModuleUnavailable);
  await expect(refused).rejects.toMatchObject({ missing: missing.hash });
});

test("loads nothing because a peer said so", async () => {
  const dependency = dependencyOf({ kind: "module", file: "src/functions/fixtures/modules/unseen.mjs", content: "" });
  await acceptDependency(dependency, { importing: false });
  expect(hasDependency(dependency.hash)).toBe(false);
  const head = {
    kind: "module",
    module: dependency.hash,
    path: ["Unseen"],
    name: "Unseen",
    ancestors: ["TypeError", "Error"],
  };
  const { value } = assemble(head, []);
  expect(value).toHaveProperty("name", "Unseen");
  expect(Object.getPrototypeOf(value)).toBe(TypeError);
  expect(() => assemble({ kind: "module", module: dependency.hash, path: ["anything"] }, [])).toThrow(
    ModuleUnavailable,
  );
});

test.each([null, [], {}, { kind: "code" }, { kind: "code", text: 1 }, { kind: "other" }])(
  "refuses %j as a dependency",
  (data) => {
    expect(() => acceptDependency(dependencyOf(data))).toThrow(TypeError);
  },
);

test.each([null, "x", {}, { kind: "none" }, { kind: "member" }, { kind: "inner" }])("refuses %j as a head", (head) => {
  expect(() => assemble(head, [])).toThrow(TypeError);
});
