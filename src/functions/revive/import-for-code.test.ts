import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { configureRoot, projectRoot } from "../modules/root.ts";
import { importForCode } from "./import-for-code.ts";

const before = projectRoot();
let root: string;
let importer: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "import-for-code-"));
  importer = pathToFileURL(join(root, "src", "file.test.ts")).href;
  await mkdir(join(root, "src"));
  await mkdir(join(root, "node_modules", "tool"), { recursive: true });
  await writeFile(join(root, "src", "near.mjs"), "export const name = 'near';");
  await writeFile(join(root, "src", "view.unknown"), "");
  await writeFile(join(root, "node_modules", "tool", "index.mjs"), "export const name = 'tool';");
  configureRoot(root);
});

afterAll(async () => {
  configureRoot(before);
  await rm(root, { recursive: true });
});

test.each([
  ["a relative path", () => "./near.mjs", "near"],
  ["a url", () => pathToFileURL(join(root, "src/near.mjs")), "near"],
  ["a path below the root", () => "/src/near.mjs", "near"],
  ["such a path with a version", () => "/src/near.mjs?v=1a2b", "near"],
  ["a whole path", () => join(root, "src/near.mjs"), "near"],
  ["a whole path as test runners write it", () => `/@fs${root}/src/near.mjs`, "near"],
  ["a package that is elsewhere here", () => "/@fs/no/such/place/node_modules/tool/index.mjs", "tool"],
  ["a package", () => "tool/index.mjs", "tool"],
])("%s", async (_title, specifier, name) => {
  expect(await importForCode(importer, specifier())).toMatchObject({ name });
});

test("what only a test runner can load is not taken for something else", async () => {
  await expect(importForCode(importer, "/src/near.mjs?raw")).rejects.toThrow(/cannot find/i);
  await expect(importForCode(importer, "/src/absent.mjs")).rejects.toThrow(/cannot find/i);
});

test("a file that Node cannot load is refused with the fix", async () => {
  const failure: unknown = await importForCode(importer, "./view.unknown").catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "ERR_UNKNOWN_FILE_EXTENSION", cause: expect.any(TypeError) });
  expect(String(failure)).toContain("workerOptions.execArgv");
});
