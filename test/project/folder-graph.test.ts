import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const src = fileURLToPath(new URL("../../src", import.meta.url));

/** From the top down: a folder may use those below it. */
const ORDER = [
  "cli",
  "pool",
  "worker",
  "proxy",
  "connection",
  "context",
  "routine",
  "balancing",
  "telemetry",
  "discovery",
  "security",
  "wire",
  "grpc",
  "values",
  "functions",
];

function sources(): string[] {
  return readdirSync(src, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map((path) => join(src, path));
}

function folderOf(path: string): string | undefined {
  const [first, ...rest] = relative(src, path).split(sep);
  return rest.length === 0 ? undefined : first;
}

function edges(): Set<string> {
  const found = new Set<string>();
  for (const file of sources()) {
    const text = readFileSync(file, "utf8");
    for (const [, specifier = ""] of text.matchAll(/(?:from|import)\s*\(?\s*"(\.[^"]+)"/g)) {
      const [from, to] = [folderOf(file), folderOf(join(dirname(file), specifier))];
      if (from !== undefined && to !== undefined && from !== to) found.add(`${from} -> ${to}`);
    }
  }
  return found;
}

it("points one way: no folder uses one above it", () => {
  const found = edges();
  expect(found.size).toBeGreaterThan(10);
  const upwards = [...found].filter((edge) => {
    const [from = "", to = ""] = edge.split(" -> ");
    if (edge === "grpc -> wire") return false; // generated messages of health and reflection
    return ORDER.indexOf(from) >= ORDER.indexOf(to);
  });
  expect(upwards).toEqual([]);
});

it("knows every folder", () => {
  const folders = new Set(
    sources()
      .map(folderOf)
      .filter((folder) => folder !== undefined),
  );
  expect([...folders].filter((folder) => !ORDER.includes(folder))).toEqual([]);
});

it("is the one that ARCHITECTURE.md tells of", () => {
  const text = readFileSync(new URL("../../ARCHITECTURE.md", import.meta.url), "utf8");
  expect(ORDER.filter((folder) => !text.includes(`| \`${folder}/\``))).toEqual([]);
});
