import { mkdirSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { describe, inject, it } from "vitest";
import { expectOutcomes, type Refusals } from "./outcomes.ts";
import { REFUSALS } from "./refusals.ts";

const folder = inject("folder");
const packages = readdirSync(fileURLToPath(new URL("project/packages", import.meta.url))).map((file) =>
  file.replace(/\.mjs$/, ""),
);
/** Those whose code travels well when a bundler puts it into the program. */
const BUNDLED = ["decimal.js", "lodash", "superstruct", "yup", "zod", "zod3"];

/** Those whose default import has another meaning in CommonJS, because they are ES modules only. */
const NOT_REQUIRED: readonly string[] = ["chalk", "got", "ky", "lodash-es", "node-fetch", "p-limit", "p-queue"];

function refusalsFor(name: string, setUp?: string): Refusals {
  return { ...REFUSALS[name], ...(setUp === undefined ? {} : REFUSALS[`${name}, ${setUp}`]) };
}

/** Bundles the program of a package; its packages too unless they are external. */
async function bundled(name: string, packages: "bundle" | "external"): Promise<string> {
  const isInside = packages === "bundle";
  const outfile = join(folder, isInside ? "bundles" : "commonjs", `${basename(name)}.cjs`);
  mkdirSync(join(folder, "commonjs"), { recursive: true });
  await build({
    entryPoints: [join(folder, "packages", `${name}.mjs`)],
    absWorkingDir: folder,
    outfile,
    bundle: true,
    packages,
    external: ["../decorated.mjs"],
    platform: "node",
    target: "node20",
    // Where the packages are that wool-ts itself depends on.
    nodePaths: [fileURLToPath(new URL("../../node_modules", import.meta.url))],
    format: "cjs",
    logLevel: "silent",
  });
  return outfile;
}

describe.concurrent("a package that a module imports", () => {
  it.each(packages)("%s", async (name) => {
    await expectOutcomes(join(folder, "packages", `${name}.mjs`), refusalsFor(name));
  });
});

describe.concurrent("a package that a CommonJS program requires", () => {
  it.each(packages.filter((name) => !NOT_REQUIRED.includes(name)))("%s", async (name) => {
    await expectOutcomes(await bundled(name, "external"), refusalsFor(name, "required"));
  });
});

describe.concurrent("a package inside of a bundle", () => {
  it.each(BUNDLED)("%s", async (name) => {
    await expectOutcomes(await bundled(name, "bundle"), refusalsFor(name, "bundled"));
  });
});
