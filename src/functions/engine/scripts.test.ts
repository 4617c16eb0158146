import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import inspector from "node:inspector";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, expect, it, vi } from "vitest";
import { viewFunction } from "./function-views.ts";
import { scriptFrom, scriptOf } from "./scripts.ts";
import { asOneCapture } from "./variable-marks.ts";

const directory = mkdtempSync(join(tmpdir(), "scripts-"));
afterAll(() => rmSync(directory, { recursive: true }));

it("has the engine announce its scripts once in a capture, however many sources are not read from files", async () => {
  // Files that are newer than the process are not trusted.
  const paths = Array.from({ length: 5 }, (_, index) => join(directory, `${index}.mjs`));
  for (const path of paths) writeFileSync(path, `export const where = () => ${JSON.stringify(path)};\n`);
  const functions: object[] = [];
  for (const path of paths) functions.push((await import(/* @vite-ignore */ pathToFileURL(path).href)).where);
  const post = vi.spyOn(inspector.Session.prototype, "post");
  const sources = asOneCapture(() => [
    ...functions.map((fn) => scriptOf(viewFunction(fn).location?.scriptId ?? "")?.source),
    scriptFrom("file:///not/loaded.mjs")?.source,
    scriptFrom("file:///nor/this.mjs")?.source,
  ]);
  const enabled = post.mock.calls.filter(([method]) => String(method) === "Debugger.enable").length;
  post.mockRestore();
  expect(sources).toEqual([...paths.map((path) => expect.stringContaining(path)), undefined, undefined]);
  expect(enabled).toBe(1);
});
