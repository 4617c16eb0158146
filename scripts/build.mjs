// Builds dist/ from src/. A build that fails leaves the last good one in place.
import { spawnSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

const fresh = mkdtempSync(join(root, ".build-"));
try {
  const args = [tsc, "-p", "tsconfig.build.json", "--outDir", join(fresh, "dist"), "--noEmitOnError"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) process.exitCode = status ?? 1;
  else {
    rmSync(join(root, "dist"), { recursive: true, force: true });
    renameSync(join(fresh, "dist"), join(root, "dist"));
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
