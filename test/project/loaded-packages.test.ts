import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const dist = fileURLToPath(new URL("../../dist/", import.meta.url));
const STATIC_IMPORT =
  /^(?:(?:import|export)\s(?:[^"';]*\sfrom\s)?|(?:"use strict"; )?(?:var [^;]*= )?require\()["']([^"']+)["']/gm;

/** The packages that loading a file of dist/ loads, not counting what is imported when it is needed. */
function packagesOf(file: string, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(file)) return packages;
  seen.add(file);
  for (const [, specifier = ""] of readFileSync(file, "utf8").matchAll(STATIC_IMPORT)) {
    if (specifier.startsWith("node:")) continue;
    if (!specifier.startsWith(".")) packages.add(specifier);
    else for (const name of packagesOf(join(dirname(file), specifier), seen)) packages.add(name);
  }
  return packages;
}

// A package in CommonJS that requires modules of Node.js cannot be loaded in a bundle that is an ES module, such as the worker
// that bundles carry along.
it.each(["index-module.js", "process-service.cjs", "thread-service.cjs"])(
  "%s loads only packages that are ES modules",
  (file) => {
    expect([...packagesOf(join(dist, file))].filter((name) => !/^(?:acorn$|@bufbuild\/protobuf)/.test(name))).toEqual(
      [],
    );
  },
);
