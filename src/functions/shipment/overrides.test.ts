import { expect, test } from "vitest";
import { override, overrideFor, overridesVersion } from "./overrides.ts";

test("matches modules by path, directory, pattern and specifier", () => {
  const before = overridesVersion();
  override("src/tools", "value");
  override("./src/*.gen.ts", "value");
  override("lib/**/data.js", "reference");
  override("@scope/package", "value");
  override(/^generated\//g, "reference");
  expect(overrideFor("src/tools/a.ts")).toBe("value");
  expect(overrideFor("src/toolsmith.ts")).toBeUndefined();
  expect(overrideFor("src/a.gen.ts")).toBe("value");
  expect(overrideFor("src/deep/a.gen.ts")).toBeUndefined();
  expect(overrideFor("lib/a/b/data.js")).toBe("reference");
  expect(overrideFor("lib/data.js")).toBe("reference");
  expect(overrideFor("@scope/package")).toBe("value");
  expect(overrideFor("generated/x.js")).toBe("reference");
  expect(overrideFor("generated/x.js")).toBe("reference");
  expect(overridesVersion()).toBe(before + 5);
});

test("the latest one counts", () => {
  override("again", "value");
  override("again", "reference");
  expect(overrideFor("again")).toBe("reference");
});
