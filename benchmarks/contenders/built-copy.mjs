import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/**
 * Imports modules of this folder so that they use a copy of the built package, altered by `change`: it gets the text
 * and the name of each file. Returns the exports of the first one, and a function that removes the copy.
 */
export async function importWithCopy(modules, change) {
  const folder = mkdtempSync(join(tmpdir(), "wool-copy-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
    cpSync(join(ROOT, "package.json"), join(folder, "package.json"));
    cpSync(join(ROOT, "dist"), join(folder, "dist"), { recursive: true });
    for (const name of modules) cpSync(join(ROOT, "benchmarks/contenders", name), join(folder, name));
    for (const name of readdirSync(join(folder, "dist")).filter((file) => /\.c?js$/.test(file))) {
      const path = join(folder, "dist", name);
      writeFileSync(path, change(readFileSync(path, "utf8"), name));
    }
    return { ...(await import(pathToFileURL(join(folder, modules[0])).href)), remove };
  } catch (error) {
    remove();
    throw error;
  }
}
