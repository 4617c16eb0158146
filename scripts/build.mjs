// Builds dist/ from src/: declarations by tsc, which checks everything, and few files of code by esbuild, since
// loading one file for each module would take a worker longer to start than Node.js itself.
// A build that fails leaves the last good one in place.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const require = createRequire(import.meta.url);
const tsc = join(dirname(require.resolve("typescript/package.json")), "bin", "tsc");

const common = {
  absWorkingDir: root,
  bundle: true,
  platform: "node",
  target: "node20.19",
  format: "esm",
  logLevel: "warning",
};

/** The module that holds the embedded worker is written by itself, without a source map twice its size. */
const embeddedWorkerAside = {
  name: "embedded worker aside",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/embedded-worker\.ts$/ }, () => ({ path: "./embedded-worker.js", external: true })),
};

/** A worker in one file, packages included, as the string that a bundled program carries along. */
async function writeEmbeddedWorker() {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: ["src/worker/embedded-main.ts"],
    minify: true,
    // Names of classes and functions show in errors and stacks.
    keepNames: true,
    metafile: true,
    write: false,
    plugins: [embeddedWorkerAside],
  });
  const [{ text }] = outputFiles;
  writeFileSync(join(out, "embedded-worker.js"), `export const EMBEDDED_WORKER = ${JSON.stringify(text)};\n`);
  writeFileSync(join(out, "embedded-worker.licenses.txt"), licenses(Object.keys(metafile.inputs)));
}

/** The licences of the packages that these files belong to. */
function licenses(inputs) {
  const packages = new Set(inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]));
  packages.delete(undefined);
  return [...packages]
    .map((path) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
      const file = readdirSync(join(root, path)).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? "" : `\n${readFileSync(join(root, path, file), "utf8")}`;
      return `${name} ${version}, ${license}\n${text}`;
    })
    .join("\n\n");
}

// Beside dist, so that what source maps name is still there when it has become dist.
const out = join(root, `.build-${process.pid}`);
mkdirSync(out);
try {
  const args = [tsc, "-p", "tsconfig.build.json", "--outDir", out, "--emitDeclarationOnly", "--noEmitOnError"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error("the sources do not type-check");
  await build({
    ...common,
    entryPoints: ["src/index.ts", "src/worker/thread/thread-main.ts", { in: "src/cli/main.ts", out: "cli" }],
    outdir: out,
    entryNames: "[name]",
    // By this name the code knows that it is not in a bundle of the user's: src/functions/shipment/own-url.ts.
    chunkNames: "wool-[hash]",
    // What the entry points share is in files of its own, so that a thread has one instance of it.
    splitting: true,
    packages: "external",
    sourcemap: true,
    plugins: [embeddedWorkerAside],
  });
  // The gRPC thread of a worker runs no user code, so it shares no instance with anybody and loads only what it uses.
  await build({
    ...common,
    entryPoints: ["src/worker/service/process-main.ts"],
    outdir: out,
    entryNames: "[name]",
    chunkNames: "wool-[hash]",
    splitting: true,
    packages: "external",
    sourcemap: true,
    plugins: [embeddedWorkerAside],
  });
  await writeEmbeddedWorker();
  rmSync(join(root, "dist"), { recursive: true, force: true });
  renameSync(out, join(root, "dist"));
} catch (error) {
  process.stderr.write(`build failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
