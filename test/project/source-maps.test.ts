import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));

test("source maps name the files that the code was written in", () => {
  const maps = readdirSync(join(root, "dist"))
    .filter((name) => name.endsWith(".js.map"))
    .map((name) => join(root, "dist", name));
  const named = maps.flatMap((map) => {
    const { sources } = JSON.parse(readFileSync(map, "utf8")) as { sources: string[] };
    // Built-in modules that the build fetches by a call are no files.
    return sources.filter((source) => !source.startsWith("built-in:")).map((source) => join(dirname(map), source));
  });
  expect(named).toContain(join(root, "src/pool/worker-pool.ts"));
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});
