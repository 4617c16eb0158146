import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runProgram } from "../support/run-program.ts";
import { installProject } from "./install.ts";

/** The same tests in projects of several test runners, each started as its users start it. */

let folder: string;
let remove: () => void;

beforeAll(() => {
  ({ folder, remove } = installProject("runners"));
  cpSync(join(folder, "packages"), join(folder, "node_modules"), { recursive: true });
});
afterAll(() => remove());

const CLOCKS = {
  "jest as CommonJS": "exports.clock = jest;\n",
  jest: 'export { jest as clock } from "@jest/globals";\n',
  vitest: 'export { vi as clock } from "vitest";\n',
};

/** Makes a project of the tests, and returns its folder. */
function makeProject(name: string, clock: keyof typeof CLOCKS, manifest: object): string {
  const project = join(folder, name);
  mkdirSync(project, { recursive: true });
  const write = (file: string, text: string): void =>
    writeFileSync(join(project, file), clock === "jest as CommonJS" ? asCommonJs(text) : text);
  for (const from of ["tests", "dom"]) {
    for (const file of readdirSync(join(folder, from))) write(file, readFileSync(join(folder, from, file), "utf8"));
  }
  writeFileSync(join(project, "clock.js"), CLOCKS[clock]);
  const load = clock === "jest as CommonJS" ? 'require("wool-ts")' : 'import("wool-ts")';
  write("load.js", `export const load = async () => ${load};\n`);
  writeFileSync(join(project, "package.json"), JSON.stringify({ name, private: true, ...manifest }));
  return project;
}

/** The imports and exports of a module as those of CommonJS. */
function asCommonJs(text: string): string {
  const names = [...text.matchAll(/^export (?:const|class|function) (\w+)/gm)].map(([, name]) => name);
  return text
    .replaceAll(/^import (\{[^}]*\}|\w+) from ("[^"]+");/gm, "const $1 = require($2);")
    .replaceAll(/^export /gm, "")
    .concat(`module.exports = { ${names.join(", ")} };\n`);
}

async function expectPassed(project: string, args: string[], execArgv: string[] = []): Promise<void> {
  const { code, stdout, stderr } = await runProgram(join(folder, "node_modules", ...args.slice(0, 2)), {
    args: args.slice(2),
    execArgv,
    cwd: project,
    env: { CI: "1", VITEST: undefined, VITEST_POOL_ID: undefined, VITEST_WORKER_ID: undefined, NODE_ENV: undefined },
  });
  expect(code, `${stdout}${stderr}`).toBe(0);
}

const JEST = ["jest", "bin/jest.js", "--runInBand", "--testTimeout", "60000"] as const;
/** All test files but the one for environments with a DOM. */
const NODE_TESTS = ["calls", "fake-timers", "fresh-modules"] as const;
const GLOBALLY = { fakeTimers: { enableGlobally: true } };

describe("jest", () => {
  it("runs calls in its default mode", async () => {
    await expectPassed(makeProject("jest-commonjs", "jest as CommonJS", {}), [...JEST, ...NODE_TESTS]);
  });

  it("runs calls in several processes, and measures coverage", async () => {
    const [jest, bin, , ...rest] = JEST;
    const project = makeProject("jest-coverage", "jest as CommonJS", {});
    await expectPassed(project, [jest, bin, "--coverage", ...rest, ...NODE_TESTS]);
  });

  it("runs calls where there is a DOM", async () => {
    const project = makeProject("jest-dom", "jest as CommonJS", { jest: { testEnvironment: "jsdom" } });
    await expectPassed(project, [...JEST, "dom\\.test"]);
  });

  it("runs calls as ES modules", async () => {
    const project = makeProject("jest-modules", "jest", { type: "module", jest: { transform: {} } });
    await expectPassed(project, [...JEST, ...NODE_TESTS, "live-exports"], ["--experimental-vm-modules"]);
  });

  it("runs calls where timers are fake from the start", async () => {
    const project = makeProject("jest-fake", "jest as CommonJS", { jest: GLOBALLY });
    await expectPassed(project, [...JEST, "calls"]);
  });
});

describe("vitest", () => {
  const VITEST = ["vitest", "vitest.mjs", "run", "--globals", "--testTimeout", "60000"];

  it.each(["vmThreads", "threads", "forks"])("runs calls with the pool %s", async (pool) => {
    // It resets modules of the project only, not those of packages.
    const args = [...VITEST, `--pool=${pool}`, "calls", "fake-timers", "live-exports"];
    await expectPassed(makeProject("vitest", "vitest", { type: "module" }), args);
  });

  it.each([
    ["jsdom", "forks"],
    ["jsdom", "vmThreads"],
    ["happy-dom", "threads"],
  ])("runs calls in the environment %s with the pool %s", async (environment, pool) => {
    const args = [...VITEST, `--environment=${environment}`, `--pool=${pool}`, "dom"];
    await expectPassed(makeProject("vitest-dom", "vitest", { type: "module" }), args);
  });
});
