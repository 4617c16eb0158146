import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BuildOptions, build } from "esbuild";
import { afterAll, expect, vi } from "vitest";
import { fixture } from "./run-program.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** What the fixture `everything.ts` prints, with any bundler. */
export const EVERYTHING = {
  away: true,
  esm: [2000, 2, ["m", "km"], 2],
  cjs: [3723, true, 3723],
  failing: ["OutOfStock", "wool", "no wool left", true],
  failingInPackage: ["UnknownUnit", "parsec", true],
  nested: 8,
  task: [expect.stringMatching(/^[\w$]+$/), "acme", false],
  context: true,
  stream: [1000, 2000, 3000],
  lazily: "b",
  nestedPool: [true, 1],
  bumped: [1, 1, 1],
  method: { value: 12, isModel: true },
  methodStream: [0, 3, 6],
  mapped: [[1000, 1, ["m", "km"], 1]],
  alone: true,
};

/** A project in another folder, with the packages that fixtures are bundled with, and a folder without any packages. */
export interface BundleProject {
  /** The project's folder: packages can be imported from here. */
  readonly folder: string;
  /** No package can be found from here. */
  readonly elsewhere: string;
  /** Writes a file into the project and returns its path. */
  write(name: string, text: string): string;
  /** Bundles a file of the project into one file elsewhere, or where the options say, and returns its path. */
  bundle(name: string, format: "esm" | "cjs", options?: BuildOptions): Promise<string>;
}

/** Makes such a project for a test file, and removes it in the end. */
export function useBundleProject(): BundleProject {
  const top = mkdtempSync(join(tmpdir(), "wool-bundles-"));
  const [folder, elsewhere] = [join(top, "project"), join(top, "elsewhere")];
  // Bundles are parsed as a whole, each several times in these programs.
  vi.setConfig({ testTimeout: 120_000 });
  afterAll(() => rmSync(top, { recursive: true, force: true }));
  mkdirSync(elsewhere);
  cpSync(fixture("bundles"), folder, { recursive: true });
  cpSync(join(folder, "packages"), join(folder, "node_modules"), { recursive: true });
  installRuntime(join(folder, "node_modules", "wool-ts"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", type: "module" }));
  let count = 0;
  return {
    folder,
    elsewhere,
    write: (name, text) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    },
    bundle: async (name, format, options = {}) => {
      const extension = format === "esm" ? "mjs" : "cjs";
      const stem = basename(name).replace(/\.\w+$/, "");
      const outfile = options.outfile ?? join(elsewhere, `${stem}-${++count}.${extension}`);
      const { warnings } = await build({
        ...(options.outdir === undefined ? { outfile } : {}),
        entryPoints: [join(folder, name)],
        absWorkingDir: folder,
        bundle: true,
        platform: "node",
        target: "node20",
        format,
        // Where the packages are that wool-ts itself depends on.
        nodePaths: [join(root, "node_modules")],
        logLevel: "silent",
        ...options,
      });
      if (warnings.length > 0) throw new Error(warnings.map(({ text }) => text).join("\n"));
      return options.outdir === undefined ? outfile : join(options.outdir, `${stem}.${extension}`);
    },
  };
}

/** Puts the built package at `path`, as an installation does, without its dependencies. */
export function installRuntime(path: string): void {
  mkdirSync(path, { recursive: true });
  writeFileSync(join(path, "package.json"), readFileSync(join(root, "package.json")));
  cpSync(join(root, "dist"), join(path, "dist"), {
    recursive: true,
    filter: (source) => !/\.(?:map|d\.ts)$/.test(source),
  });
}

/** Puts the dependencies of the runtime beside it, as an installation does. */
export function installDependencies(nodeModules: string): void {
  for (const name of ["acorn", "dns-packet", join("@leichtgewicht", "ip-codec"), join("@bufbuild", "protobuf")]) {
    cpSync(join(root, "node_modules", name), join(nodeModules, name), { recursive: true, dereference: true });
  }
}
