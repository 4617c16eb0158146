// Builds dist/ from src/. tsc checks everything and writes declarations, of which those that users can reach are put into
// one file for each entry point. esbuild puts the code into few files, since loading one file for each module would take
// a worker longer to start than Node.js itself. A build that fails leaves the last good one in place.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";

/** What programs import: the name in dist/, and the source. Each has its place in "exports" of package.json, too. */
const PUBLIC_ENTRIES = {
  index: "src/index.ts",
  dns: "src/discovery/dns/index.ts",
  etcd: "src/discovery/etcd/index.ts",
  redis: "src/discovery/redis/index.ts",
};

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
  // Globals that programs may replace, by those that the runtime keeps for itself.
  inject: ["src/time/own-globals.ts"],
  define: { "process.nextTick": "nextTick", "Date.now": "dateNow" },
};

/**
 * Modules of Node.js that bundlers of users treat in their own way, fetched in a way that they leave alone: webpack replaces
 * `createRequire`, and tsup takes the prefix off modules that do not exist without it.
 */
const builtInsByCall = {
  name: "built-ins by call",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^node:(?:module|sea)$/ }, ({ path }) => ({ path, namespace: "built-in" }));
    onLoad({ filter: /./, namespace: "built-in" }, ({ path }) => ({
      contents: `export const { ${Object.keys(require(path)).join()} } = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
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
    // An optional package of the user's.
    external: ["@redis/client"],
    metafile: true,
    write: false,
    plugins: [embeddedWorkerAside, builtInsByCall],
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

/** One file of declarations for each public entry, without what users cannot reach; for CommonJS under another name. */
async function writeDeclarations() {
  const types = join(out, "types");
  const args = [tsc, "-p", "tsconfig.build.json", "--outDir", types, "--emitDeclarationOnly", "--noEmitOnError"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: "inherit" });
  if (status !== 0) throw new Error("the sources do not type-check");
  const input = Object.fromEntries(
    Object.entries(PUBLIC_ENTRIES).map(([name, source]) => [
      name,
      join(types, source.replace(/^src\//, "").replace(/\.ts$/, ".d.ts")),
    ]),
  );
  const bundle = await rollup({ input, external: /^[^./]/, plugins: [dts()] });
  await bundle.write({ dir: out, entryFileNames: "[name].d.ts", chunkFileNames: "wool-[hash].d.ts" });
  await bundle.close();
  rmSync(types, { recursive: true });
  for (const name of readdirSync(out).filter((file) => file.endsWith(".d.ts"))) {
    const text = readFileSync(join(out, name), "utf8");
    writeFileSync(
      join(out, name.replace(/ts$/, "cts")),
      text.replace(/(from '\.\/(?:wool-[^']*|index))\.js'/g, "$1.cjs'"),
    );
  }
}

/** The public entries, and the files they share, as CommonJS: for tools that can load nothing else, such as jest. */
async function writeCommonJs(files) {
  const names = new Set(files);
  // What may be imported from another: files that are shared, and public entries that are loaded when they are needed.
  const part = `\\./(wool-[0-9A-Z]{8}|${Object.keys(PUBLIC_ENTRIES).join("|")})`;
  for (const name of names) {
    const text = readFileSync(join(out, name), "utf8");
    const shared = text.replace(new RegExp(`(["'])${part}\\.js\\1`, "g"), '"./$2.cjs"');
    for (const [, file] of text.matchAll(new RegExp(`["']${part}\\.js["']`, "g"))) names.add(`${file}.js`);
    const { code } = await transform(shared, {
      format: "cjs",
      platform: "node",
      target: common.target,
      logOverride: { "empty-import-meta": "silent" },
    });
    writeFileSync(join(out, name.replace(/js$/, "cjs")), code.replace(/\n\/\/# sourceMappingURL=.*\n?$/, "\n"));
  }
}

// Beside dist, so that what source maps name is still there when it has become dist.
const out = join(root, `.build-${process.pid}`);
mkdirSync(out);
try {
  await writeDeclarations();
  await build({
    ...common,
    entryPoints: [
      ...Object.entries(PUBLIC_ENTRIES).map(([name, source]) => ({ in: source, out: name })),
      { in: "src/worker/thread/thread-main.ts", out: "thread-main" },
      { in: "src/cli/main.ts", out: "cli" },
    ],
    outdir: out,
    entryNames: "[name]",
    // By this name the code knows that it is not in a bundle of the user's: src/functions/shipment/runtime-exports.ts.
    chunkNames: "wool-[hash]",
    // What the entry points share is in files of its own, so that a thread has one instance of it.
    splitting: true,
    packages: "external",
    sourcemap: true,
    plugins: [embeddedWorkerAside, builtInsByCall],
  });
  await writeCommonJs(Object.keys(PUBLIC_ENTRIES).map((name) => `${name}.js`));
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
    plugins: [embeddedWorkerAside, builtInsByCall],
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
