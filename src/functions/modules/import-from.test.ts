import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { scriptFrom } from "../engine/index.ts";
import { importFrom } from "./import-from.ts";

const directory = mkdtempSync(join(tmpdir(), "wool-import-"));
afterAll(() => rmSync(directory, { recursive: true }));

it("imports as the file does, and does not pass for the file", async () => {
  writeFileSync(join(directory, "neighbour.mjs"), "export const near = 1;");
  writeFileSync(join(directory, "home.mjs"), "export const own = () => 2;");
  const url = pathToFileURL(join(directory, "home.mjs")).href;
  await import(/* @vite-ignore */ url);
  expect(await importFrom(url, "./neighbour.mjs")).toMatchObject({ near: 1 });
  expect(scriptFrom(url)?.source).toContain("own");
});
