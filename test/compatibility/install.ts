import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";
import { installDependencies, installRuntime } from "../support/bundle.ts";

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder of the project that has all packages installed. */
    readonly folder: string;
  }
}

/**
 * Installs the packages, and the runtime as it was built, into a project in a temporary folder, for all tests. With
 * `WOOL_COMPATIBILITY_FOLDER` the project is there, and what was installed is kept for the next time.
 */
export default function install(project: TestProject): () => void {
  const { folder, remove } = installProject("project", "");
  project.provide("folder", folder);
  return remove;
}

/** The same for another folder beside this file; `name`: where it is in the folder that is kept. */
export function installProject(source: string, name: string = source): { folder: string; remove(): void } {
  const kept = process.env["WOOL_COMPATIBILITY_FOLDER"];
  const folder = kept === undefined ? mkdtempSync(join(tmpdir(), "wool-compatibility-")) : join(kept, name);
  mkdirSync(folder, { recursive: true });
  cpSync(fileURLToPath(new URL(source, import.meta.url)), folder, { recursive: true });
  const nodeModules = join(folder, "node_modules");
  if (!existsSync(nodeModules)) npmInstall(folder);
  rmSync(join(nodeModules, "wool-ts"), { recursive: true, force: true });
  installRuntime(join(nodeModules, "wool-ts"));
  installDependencies(nodeModules);
  const remove = (): void => {
    if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  };
  return { folder, remove };
}

function npmInstall(folder: string): void {
  const args = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--no-package-lock", "--loglevel=error"];
  const { status, error } = spawnSync("npm", args, { cwd: folder, stdio: "inherit" });
  if (error !== undefined) throw error;
  if (status !== 0) throw new Error("the packages cannot be installed");
}
