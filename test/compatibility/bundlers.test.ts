import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram, startProgram } from "../support/run-program.ts";
import { until } from "../support/until.ts";
import { installProject } from "./install.ts";

/** The same program, built by each bundler as its users would, and run where no package is in reach. */

const EXPECTED = {
  sum: 3,
  elsewhere: true,
  price: 3,
  tomorrow: "2024-02-29",
  numbers: [0, 1, 2],
  error: [true, "salt", "no salt left"],
  late: true,
};

type Format = "esm" | "cjs";

/** How a bundle is made. */
interface Wish {
  readonly format: Format;
  readonly minify: boolean;
  /** Leaves the packages out. */
  readonly external: boolean;
}

let folder: string;
let elsewhere: string;
let remove: () => void;

beforeAll(() => {
  ({ folder, remove } = installProject("bundlers"));
  elsewhere = mkdtempSync(join(tmpdir(), "wool-bundled-"));
});
afterAll(() => {
  remove();
  rmSync(elsewhere, { recursive: true, force: true });
});

/** A script for Node.js that makes the bundle; `out` is where. */
const BUNDLERS: Readonly<Record<string, (wish: Wish, out: string) => string>> = {
  esbuild: ({ format, minify, external }, out) => `
    import { build } from "esbuild";
    await build({
      entryPoints: ["src/main.js"], bundle: true, platform: "node", format: ${text(format)}, minify: ${minify},
      ${external ? 'packages: "external",' : ""} outdir: ${text(out)}, outExtension: { ".js": ${text(extension(format))} },
      logLevel: "error",
    });`,
  Rollup: ({ format, minify, external }, out) => `
    import commonjs from "@rollup/plugin-commonjs";
    import resolve from "@rollup/plugin-node-resolve";
    import terser from "@rollup/plugin-terser";
    import { rollup } from "rollup";
    const bundle = await rollup({
      input: "./src/main.js",
      external: ${external ? "/^[^./]/" : "/^node:/"},
      plugins: [resolve({ preferBuiltins: true }), commonjs()${minify ? ", terser()" : ""}],
    });
    await bundle.write({ dir: ${text(out)}, format: ${text(format)}, entryFileNames: "[name]${extension(format)}" });`,
  "Vite SSR": ({ minify, external }, out) => `
    import { build } from "vite";
    await build({
      logLevel: "error",
      configFile: false,
      ${external ? "" : "ssr: { noExternal: true },"}
      build: { ssr: "src/main.js", outDir: ${text(out)}, minify: ${minify}, emptyOutDir: true, target: "node20",
        rollupOptions: { output: { entryFileNames: "[name].mjs" } } },
    });`,
  webpack: ({ format, minify, external }, out) => `
    import webpack from "webpack";
    const stats = await new Promise((resolve, reject) => webpack({
      mode: ${text(minify ? "production" : "development")},
      target: "node20",
      entry: "./src/main.js",
      ${external ? `externals: [({ request }, done) => /^[a-z]/.test(request) ? done(null, "${format === "esm" ? "module" : "commonjs"} " + request) : done()],` : ""}
      ${format === "esm" ? "experiments: { outputModule: true }," : ""}
      output: { path: ${text(out)}, filename: "main${extension(format)}", ${format === "esm" ? 'library: { type: "module" }, chunkFormat: "module"' : ""} },
    }, (error, stats) => error ? reject(error) : resolve(stats)));
    if (stats.hasErrors()) throw new Error(stats.toString("errors-only"));`,
  tsup: ({ format, minify, external }, out) => `
    import { build } from "tsup";
    await build({
      config: false, silent: true, entry: ["src/main.js"], format: [${text(format)}], minify: ${minify},
      platform: "node", target: "node20", ${external ? "skipNodeModulesBundle: true," : "noExternal: [/.*/],"} outDir: ${text(out)},
      outExtension: () => ({ js: ${text(extension(format))} }),
    });`,
  tsdown: ({ format, minify, external }, out) => `
    import { build } from "tsdown";
    await build({
      config: false, logLevel: "error", entry: ["src/main.js"], format: [${text(format)}], minify: ${minify}, dts: false,
      platform: "node", target: "node20", ${external ? "external: [/^[a-z]/]," : "noExternal: [/.*/],"} outDir: ${text(out)},
      outExtensions: () => ({ js: ${text(extension(format))} }),
    });`,
};

function text(value: string): string {
  return JSON.stringify(value);
}

function extension(format: Format): string {
  return format === "esm" ? ".mjs" : ".cjs";
}

let count = 0;

/** Makes a bundle, and returns the folder that it is in. */
async function bundle(bundler: string, wish: Wish): Promise<string> {
  const out = join(wish.external ? folder : elsewhere, `out-${++count}`);
  const script = join(folder, `build-${count}.mjs`);
  writeFileSync(script, BUNDLERS[bundler]?.(wish, out) ?? "");
  const { code, stdout, stderr } = await runProgram(script, {
    cwd: folder,
    env: { NODE_ENV: undefined, VITEST: undefined },
  });
  expect(code, `${stdout}${stderr}`).toBe(0);
  return out;
}

const wishes = (formats: readonly Format[]): Wish[] =>
  formats.flatMap((format) => [
    { format, minify: false, external: false },
    { format, minify: true, external: false },
    { format, minify: false, external: true },
  ]);

describe.each(Object.keys(BUNDLERS))("%s", (bundler) => {
  it.each(wishes(bundler === "Vite SSR" ? ["esm"] : ["esm", "cjs"]))("makes programs that run: %o", async (wish) => {
    const out = await bundle(bundler, wish);
    const end = await runProgram(join(out, `main${extension(wish.format)}`), { cwd: out });
    expect(end.code, `${readdirSync(out).join(" ")}\n${end.stdout}${end.stderr}`).toBe(0);
    expect(JSON.parse(end.stdout)).toEqual(EXPECTED);
    expect(end.stderr).toBe("");
    rmSync(out, { recursive: true });
  });
});

describe("Next.js", () => {
  it("makes a production build whose routes make calls", async () => {
    const project = join(folder, "next-app");
    mkdirSync(join(project, "app", "run"), { recursive: true });
    cpSync(join(folder, "src"), join(project, "src"), { recursive: true });
    const files = {
      "package.json": JSON.stringify({ name: "next-app", private: true, type: "module" }),
      "next.config.mjs": `export default { turbopack: { root: ${text(folder)} } };\n`,
      "app/layout.js":
        "export default function Layout({ children }) { return <html><body>{children}</body></html>; }\n",
      "app/run/route.js":
        'import { run } from "../../src/run.js";\nexport const dynamic = "force-dynamic";\n' +
        "export const GET = async () => Response.json(await run());\n",
    };
    for (const [name, content] of Object.entries(files)) writeFileSync(join(project, name), content);
    const next = join(folder, "node_modules", "next", "dist", "bin", "next");
    const env = { NEXT_TELEMETRY_DISABLED: "1", NODE_ENV: undefined, VITEST: undefined };
    const build = await runProgram(next, { args: ["build"], cwd: project, env });
    expect(build.code, `${build.stdout}${build.stderr}`).toBe(0);
    const server = startProgram(next, { args: ["start", "-p", "0"], cwd: project, env });
    try {
      await until(() => /Ready in/.test(server.stdout) || server.end !== undefined, "the server is ready");
      const [, port] = /localhost:(\d+)/.exec(server.stdout) ?? [];
      const response = await fetch(`http://127.0.0.1:${port}/run`);
      expect(await response.json()).toEqual(EXPECTED);
    } finally {
      server.child.kill("SIGTERM");
      await server.ended;
    }
  });
});
