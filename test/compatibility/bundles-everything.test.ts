import { join } from "node:path";
import type { BuildOptions } from "esbuild";
import { describe, expect, test } from "vitest";
import { EVERYTHING, useBundleProject } from "../support/bundle.ts";
import { outputOf } from "../support/run-to-end.ts";

const project = useBundleProject();

const experimental = { tsconfigRaw: { compilerOptions: { experimentalDecorators: true } } };

const WAYS: [string, "esm" | "cjs", BuildOptions][] = [
  ["an ES module", "esm", {}],
  ["an ES module, minified", "esm", { minify: true }],
  ["an ES module, names kept, with a source map", "esm", { keepNames: true, sourcemap: true }],
  ["an ES module, decorators of the older dialect", "esm", experimental],
  ["CommonJS", "cjs", {}],
  ["CommonJS, minified", "cjs", { minify: true }],
  ["CommonJS, minified, names kept, with a source map", "cjs", { minify: true, keepNames: true, sourcemap: "inline" }],
  ["CommonJS, decorators of the older dialect", "cjs", experimental],
];

describe("a program bundled with its packages", () => {
  test.each(WAYS)("as %s does everything on workers", async (_, format, options) => {
    expect(await outputOf(await project.bundle("everything.ts", format, options))).toEqual(EVERYTHING);
  });

  test("may be in several files", async () => {
    const outdir = join(project.elsewhere, "split");
    const options = { splitting: true, outdir, outExtension: { ".js": ".mjs" } };
    expect(await outputOf(await project.bundle("everything.ts", "esm", options))).toEqual(EVERYTHING);
  });
});
