// Runs the tests that depend on the engine with other versions of Node.js than the one that runs this.
// usage: node scripts/test-node-versions.mjs 22 24 26
// The last one named also runs all tests that start programs and pools.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { arch, platform, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const ENGINE_TESTS = [
  "src/functions",
  "src/values",
  ...["bundles", "compile-cache", "debugging", "decorators", "entries", "references"].map(
    (name) => `test/programs/${name}.test.ts`,
  ),
  "test/lifecycle/programs.test.ts",
  ...["calls/errors", "calls/routines", "streams/streams-kinds", "wire/wire-sessions"].map(
    (name) => `test/integration/${name}.test.ts`,
  ),
];
const ALL_TESTS = ["src/functions", "src/values", "test/integration", "test/lifecycle", "test/programs"];
const versions = process.argv.slice(2);
if (versions.length === 0) {
  process.stderr.write("usage: node scripts/test-node-versions.mjs VERSION...\n");
  process.exit(2);
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (error !== undefined) throw error;
  return status === 0;
}

const folder = mkdtempSync(join(tmpdir(), "wool-nodes-"));
const failed = [];
try {
  for (const version of versions) {
    const prefix = join(folder, version);
    const name = `node-${platform()}-${arch()}`;
    if (!run("npm", ["install", "--no-audit", "--no-fund", "--silent", "--prefix", prefix, `${name}@${version}`])) {
      throw new Error(`${name}@${version} cannot be installed`);
    }
    const node = join(prefix, "node_modules", name, "bin", "node");
    process.stdout.write(`\n== Node.js ${spawnSync(node, ["--version"], { encoding: "utf8" }).stdout}`);
    const tests = version === versions.at(-1) ? ALL_TESTS : ENGINE_TESTS;
    const passed = run(node, [join(root, "node_modules", "vitest", "vitest.mjs"), "run", "--reporter=dot", ...tests]);
    if (!passed) failed.push(version);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (failed.length > 0) {
  process.stderr.write(`failed with Node.js ${failed.join(", ")}\n`);
  process.exitCode = 1;
}
