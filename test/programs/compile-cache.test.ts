import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runProgram } from "../support/run-program.ts";

const hasCache = "getCompileCacheDir" in process.getBuiltinModule("node:module");
if (!hasCache) console.warn(`skipped: compiled code, since Node.js ${process.version} does not keep any`);

describe.skipIf(!hasCache)("a program that has compiled code kept", () => {
  let directory: string;

  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), "wool-compiled-"));
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  test("has its workers keep theirs there", async () => {
    const cache = join(directory, "own");
    const { stdout } = await runProgram("compile-cache/main.mjs", { args: [cache] });
    expect(stdout.trim()).toBe(cache);
    expect(existsSync(cache) ? readdirSync(cache) : []).toHaveLength(1);
  });

  test("unless the environment says otherwise", async () => {
    const [cache, other] = [join(directory, "one"), join(directory, "other")];
    const { stdout } = await runProgram("compile-cache/main.mjs", {
      args: [cache],
      env: { NODE_COMPILE_CACHE: other },
    });
    expect(stdout.trim()).toBe(other);
  });
});
