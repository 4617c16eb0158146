// Builds dist/ from src/: declarations by tsc, which checks everything, and few files of code by esbuild, since
// loading one file for each module would take a worker longer to start than Node.js itself.
// A build that fails leaves the last good one in place.
import { spawnSync } from "node:child_process";
import { mkdtempSync, renameSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

const fresh = mkdtempSync(join(root, ".build-"));
const out = join(fresh, "dist");
try {
  const args = [tsc, "-p", "tsconfig.build.json", "--outDir", out, "--emitDeclarationOnly", "--noEmitOnError"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error("the sources do not type-check");
  await build({
    absWorkingDir: root,
    entryPoints: [
      "src/index.ts",
      "src/worker/process-main.ts",
      "src/worker/thread-main.ts",
      { in: "src/cli/main.ts", out: "cli" },
    ],
    outdir: out,
    entryNames: "[name]",
    bundle: true,
    // What the entry points share is in files of its own, so that a thread has one instance of it.
    splitting: true,
    packages: "external",
    platform: "node",
    target: "node20.19",
    format: "esm",
    sourcemap: true,
    logLevel: "warning",
  });
  rmSync(join(root, "dist"), { recursive: true, force: true });
  renameSync(out, join(root, "dist"));
} catch (error) {
  process.stderr.write(`build failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(fresh, { recursive: true, force: true });
}
