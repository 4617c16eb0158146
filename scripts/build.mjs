// Builds dist/ from src/. tsc checks everything and writes declarations. Those that users can reach are put into one
// file for each entry point. esbuild puts the code into few files: with one file for each module, loading them would
// take a worker longer than starting Node.js itself. A build that fails leaves the last good one in place.
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, transform } from "esbuild";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { isLateFile, LATE_ENTRIES, lateFiles } from "./late-files.mjs";
import { toCommonJs } from "./to-commonjs.mjs";

/** What programs import: the name in dist/, and the source. Each is also in "exports" of package.json. */
const PUBLIC_ENTRIES = {
  index: "src/index.ts",
  dns: "src/discovery/dns/index.ts",
  etcd: "src/discovery/etcd/index.ts",
  redis: "src/discovery/redis/index.ts",
};

/** The modules in dist/ that those are made of. */
const PUBLIC_MODULES = Object.keys(PUBLIC_ENTRIES).map((name) => `${name}-module.js`);

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
  // Replaces globals that programs may change by copies that the runtime keeps.
  inject: ["src/time/own-globals.ts"],
  define: { "process.nextTick": "nextTick", "Date.now": "dateNow" },
};

/**
 * Modules of Node.js, loaded by a call, with only the exports that are used. An import would make Node.js read all exports
 * of the module, which loads much that nobody needs: on Node.js 24 a third of the time that the runtime takes to load.
 * Besides, bundlers of users do not change calls: webpack replaces `createRequire`, and tsup removes the prefix of modules
 * that do not exist without it.
 */
const builtInsByCall = {
  name: "built-ins by call",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: "built-in", sideEffects: false }));
    onLoad({ filter: /./, namespace: "built-in" }, ({ path }) => ({
      contents: (LATE_BUILT_INS.includes(path) ? lateBuiltIn(path) : builtIn(path)).join("\n"),
    }));
  },
};

/** Modules of Node.js of which only functions are used, and seldom. They are loaded when one is called. */
const LATE_BUILT_INS = ["node:fs/promises"];

function builtIn(path) {
  return [
    `const all = process.getBuiltinModule(${JSON.stringify(path)}), get = (name) => all[name];`,
    "export default all;",
    ...Object.keys(require(path)).map((name) => `export const ${name} = /* @__PURE__ */ get("${name}");`),
  ];
}

function lateBuiltIn(path) {
  const functions = Object.entries(require(path)).filter(([, value]) => typeof value === "function");
  return [
    `const all = () => process.getBuiltinModule(${JSON.stringify(path)});`,
    ...functions.map(([name]) => `export const ${name} = (...args) => all().${name}(...args);`),
  ];
}

/** What runs before any code of users needs no copies of globals, and starts sooner without them. */
const { inject: _inject, define: _define, ...asItIs } = common;

/** The file with the task threads of a worker is loaded long before the one that uses them. Both need the same instance. */
const loadingThreadAside = {
  name: "loading thread aside",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/loading-thread\.ts$/ }, () => ({ path: "./loading-thread.cjs", external: true })),
};

/** The module that holds the embedded worker is written separately, without a source map twice its size. */
const embeddedWorkerAside = {
  name: "embedded worker aside",
  setup: ({ onResolve }) =>
    onResolve({ filter: /\/embedded-worker\.ts$/ }, () => ({ path: "./embedded-worker.js", external: true })),
};

/** A worker in one file, packages included, as the string that a bundled program carries. */
async function writeEmbeddedWorker() {
  const { outputFiles, metafile } = await build({
    ...common,
    entryPoints: ["src/worker/embedded-main.ts"],
    minify: true,
    // Names of classes and functions appear in errors and stacks.
    keepNames: true,
    // An optional package of the user.
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

/**
 * One file of declarations for each public entry, without the declarations that users cannot reach; for CommonJS under
 * another name.
 */
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

/** The files that each CommonJS file loads before it runs. */
const required = new Map();

/**
 * Writes a file with the scripts that a thread of a worker loads to begin with: src/worker/script-loader.ts. One file is read and
 * compiled sooner than many, and its text is not put among the young objects of V8, which are copied. V8 keeps the text, and
 * a number for each line of it.
 */
async function writeScriptSet(file, script) {
  const names = new Set([script]);
  for (const name of names) for (const other of required.get(name) ?? []) names.add(other);
  const entries = [];
  for (const name of names) {
    const source = readFileSync(join(out, name), "utf8").replace(/^\/\/# sourceMappingURL=.*$/m, "");
    const { code } = await transform(source, { minifyWhitespace: true, lineLimit: 200, legalComments: "none" });
    entries.push(`${JSON.stringify(name)}:(function(exports,require,module,__filename,__dirname){${code}}),\n`);
  }
  writeFileSync(join(out, file), `"use strict";module.exports={\n${entries.join("")}};\n`);
}

/** Writes modules, and the files they share, as CommonJS. Returns the names of those modules. */
function writeCommonJs(modules) {
  const names = new Set(modules);
  const rename = (module) =>
    /^wool-[0-9A-Z]{8}\.js$/.test(module) || isLateFile(module) || names.has(module) || PUBLIC_MODULES.includes(module)
      ? module.replace(/(?:-module)?\.js$/, ".cjs")
      : undefined;
  const late = new Map();
  for (const name of names) {
    const { text, imported, importedLate, importedFirst } = toCommonJs(
      readFileSync(join(out, name), "utf8"),
      rename,
      isLateFile,
    );
    for (const module of imported) names.add(module);
    for (const [file, exported] of importedLate) late.set(file, [...(late.get(file) ?? []), ...exported]);
    // src/worker/kept-scripts.ts reads a byte as a character.
    if (/[^\0-\x7f]/.test(text)) throw new Error(`${name} has characters that are not ASCII`);
    writeFileSync(join(out, rename(name)), text);
    required.set(rename(name), importedFirst);
  }
  for (const [file, exported] of late) refuseClasses(file, exported);
  return names;
}

/** What is loaded when it is called must be functions. */
function refuseClasses(file, names) {
  const exports = require(join(out, file));
  const wrong = names.filter((name) => typeof exports[name] !== "function" || /^class\b/.test(String(exports[name])));
  if (wrong.length > 0)
    throw new Error(`${file} is loaded late and does not export these functions: ${wrong.join(", ")}`);
}

/** Modules that import each other would run before what they import has run. */
function refuseCycles() {
  const done = new Set();
  const visit = (name, path) => {
    if (path.includes(name)) throw new Error(`files import each other: ${[...path, name].join(" > ")}`);
    if (done.has(name)) return;
    done.add(name);
    for (const [, next] of readFileSync(join(out, name), "utf8").matchAll(
      /^(?:import|\} from)[^;]*?"\.\/([^"]+\.js)";/gm,
    )) {
      if (next !== "embedded-worker.js") visit(next, [...path, name]);
    }
  };
  for (const name of readdirSync(out).filter((file) => file.endsWith(".js"))) visit(name, []);
}

/**
 * What programs import. Task threads have the runtime as CommonJS (src/worker/kept-scripts.ts), so there "#index" and the
 * others are modules with the exports of those files. The condition is in "imports" of package.json. `require` of Node.js gets
 * the same module, through a CommonJS file.
 */
function writePublicEntries() {
  for (const name of Object.keys(PUBLIC_ENTRIES)) {
    const exports = Object.keys(require(join(out, `${name}.cjs`)));
    writeFileSync(join(out, `${name}.js`), `export { ${exports.join(", ")} } from "#${name}";\n`);
    const thread = [
      'const require = process.getBuiltinModule("node:module").createRequire(import.meta.url);',
      // What loads compiled code that was kept (src/worker/kept-scripts.ts), where Node.js does not.
      'const kept = require.cache[require.resolve("./kept-scripts.cjs")]?.exports;',
      `export const { ${exports.join(", ")} } = kept?.loadKeptScript("${name}.cjs") ?? require("./${name}.cjs");`,
    ];
    writeFileSync(join(out, `${name}-thread.js`), thread.map((line) => `${line}\n`).join(""));
    const sync = [
      '"use strict";',
      // Node.js 20 gives another `require` to a file that a loader compiled for `import`. That one finds no ES modules.
      'const { createRequire } = process.getBuiltinModule("node:module");',
      `module.exports = require.cache === undefined ? createRequire(__filename)("./${name}.js") : require("./${name}.js");`,
    ];
    writeFileSync(join(out, `${name}-sync.cjs`), sync.map((line) => `${line}\n`).join(""));
  }
}

// Beside dist, so that the paths in source maps stay right when it becomes dist.
const out = join(root, `.build-${process.pid}`);
const inFiles = {
  outdir: out,
  entryNames: "[name]",
  // This name tells the code that it is not in a bundle of a user: src/functions/shipment/runtime-exports.ts.
  chunkNames: "wool-[hash]",
  // The shared code of the entry points is in separate files, so that a thread has one instance of it.
  splitting: true,
  packages: "external",
  sourcemap: true,
  plugins: [embeddedWorkerAside, builtInsByCall],
};
mkdirSync(out);
try {
  await writeDeclarations();
  await build({
    ...common,
    entryPoints: [
      ...Object.entries(PUBLIC_ENTRIES).map(([name, source]) => ({ in: source, out: `${name}-module` })),
      { in: "src/worker/thread/thread-service.ts", out: "thread-service" },
      { in: "src/cli/main.ts", out: "cli" },
      ...LATE_ENTRIES,
    ],
    ...inFiles,
    plugins: [lateFiles(root), ...inFiles.plugins],
  });
  refuseCycles();
  writeCommonJs([...PUBLIC_MODULES, "thread-service.js"]);
  await writeScriptSet("thread-scripts.cjs", "thread-service.cjs");
  rmSync(join(out, "thread-service.js"));
  writePublicEntries();
  // The gRPC thread of a worker runs no user code, so it shares no instances and loads only what it uses.
  const before = new Set(readdirSync(out));
  await build({
    ...common,
    entryPoints: ["src/worker/service/process-service.ts"],
    ...inFiles,
    plugins: [loadingThreadAside, ...inFiles.plugins],
  });
  for (const name of writeCommonJs(["process-service.js"])) {
    if (!before.has(name)) rmSync(join(out, name));
  }
  await writeScriptSet("process-scripts.cjs", "process-service.cjs");
  const script = { ...inFiles, format: "cjs", splitting: false, outExtension: { ".js": ".cjs" } };
  await build({ ...common, entryPoints: ["src/worker/kept-scripts.ts"], ...script });
  await build({
    ...asItIs,
    entryPoints: [
      "src/worker/process-main.ts",
      "src/worker/thread-main.ts",
      { in: "src/worker/service/loading-thread.ts", out: "loading-thread" },
    ],
    ...script,
    // Read by modules that are imported along with a used one, and are left out.
    define: { "import.meta.url": "undefined" },
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
