import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

/** A project in a folder of its own, with this package and, by default, tsx. Remove it at the end. */
export class SmallProject {
  readonly #folder = mkdtempSync(join(tmpdir(), "wool-project-"));

  /** Makes the files, by their paths. A package is a `package.json` and modules below `node_modules`. */
  constructor(files: Readonly<Record<string, string>>, { tsx = true }: { readonly tsx?: boolean } = {}) {
    for (const [path, text] of Object.entries(files)) this.write(path, text);
    mkdirSync(join(this.#folder, "node_modules"), { recursive: true });
    symlinkSync(root, join(this.#folder, "node_modules", "wool-ts"));
    if (tsx) symlinkSync(join(root, "node_modules", "tsx"), join(this.#folder, "node_modules", "tsx"));
  }

  write(path: string, text: string): void {
    const file = join(this.#folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  /** Runs a program of the project to its end. Rejects when it fails. */
  run(file: string, ...execArgv: readonly string[]): Promise<{ stdout: string; stderr: string }> {
    return run(process.execPath, [...execArgv, file], { cwd: this.#folder });
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
