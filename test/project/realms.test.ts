import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** These run in processes of the runtime only, where there is one realm. */
const WORKERS_ONLY = /^worker\/(?:thread|service)\//;

/**
 * Classes whose objects may be of another realm: test runners run modules in one of their own, and what Node.js makes is of
 * the main one. Errors have `isError`, which asks for more than that.
 */
const BUILT_IN =
  /\binstanceof (?:Array(?:Buffer)?|Buffer|DataView|Date|Function|Map|Object|Promise|RegExp|Set|SharedArrayBuffer|\w+Array|URL(?:SearchParams)?|Blob|File)\b/;

it("the runtime does not ask by class what an object of the platform is", () => {
  const found = readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts") && !WORKERS_ONLY.test(path))
    .flatMap((path) =>
      readFileSync(join(src, path), "utf8")
        .split("\n")
        .filter((line) => BUILT_IN.test(line))
        .map((line) => `${path}: ${line.trim()}`),
    );
  // Asks which realm this is.
  expect(found).toEqual([
    "functions/engine/intrinsics.ts: export const IS_MAIN_REALM: boolean = inspect instanceof Function;",
  ]);
});
