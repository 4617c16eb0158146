import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { installDependencies, installRuntime, useBundleProject } from "../support/bundle.ts";
import { outputOf } from "../support/run-to-end.ts";

const project = useBundleProject();

const WHERE = `
import { currentTask, routine, WorkerPool } from "wool-ts";
import { double } from "./double.mjs";
const look = routine(async (n) => [await double(n), process.argv[1], currentTask() !== undefined]);
const pool = await WorkerPool.start({ size: 1 });
try {
  console.log(JSON.stringify(await look(2)));
} finally {
  await pool.stop();
}
`;
const DOUBLE = `
import { currentTask } from "wool-ts";
export async function double(n) {
  if (currentTask() === undefined) throw new Error("another instance of the runtime");
  return 2 * n;
}
`;

/** A program whose packages are laid out by a package manager. */
function makeProgram(name: string): { readonly folder: string; readonly program: string } {
  const folder = join(project.elsewhere, name);
  mkdirSync(join(folder, "node_modules"), { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name, type: "module" }));
  writeFileSync(join(folder, "double.mjs"), DOUBLE);
  writeFileSync(join(folder, "main.mjs"), WHERE);
  return { folder, program: join(folder, "main.mjs") };
}

const KIND = `
import { routine, WorkerPool } from "wool-ts";
import { kindOf, Odd } from "./kind.mjs";
const pool = await WorkerPool.start({ size: 1 });
try {
  const error = await routine(kindOf)(1).catch((reason) => reason);
  console.log(JSON.stringify([await kindOf(2), await routine(kindOf)(2), error instanceof Odd]));
} finally {
  await pool.stop();
}
`;

describe("options of Node.js that decide where modules are found", () => {
  function makeKinds(name: string): string {
    const { folder } = makeProgram(name);
    installRuntime(join(folder, "node_modules", "wool-ts"));
    installDependencies(join(folder, "node_modules"));
    const imports = { "#kind": { development: "./development.mjs", default: "./default.mjs" } };
    const kind =
      'import { kind } from "#kind";\nexport class Odd extends Error {}\n' +
      "export async function kindOf(n) {\n  if (n % 2 === 1) throw new Odd();\n  return kind;\n}\n";
    const files = {
      "package.json": JSON.stringify({ name, type: "module", imports }),
      "development.mjs": 'export const kind = "development";\n',
      "default.mjs": 'export const kind = "default";\n',
      "kind.mjs": kind,
      "main.mjs": KIND,
    };
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
    return folder;
  }

  test.each([
    ["--conditions=development", []],
    ["--conditions", ["development"]],
    ["-C", ["development"]],
  ])("%s %s holds for workers, too", async (option, more) => {
    const folder = makeKinds("conditions");
    const found = await outputOf(join(folder, "main.mjs"), { execArgv: [option, ...more] });
    expect(found).toEqual(["development", "development", true]);
  });

  test("--preserve-symlinks holds for workers, too", async () => {
    const folder = makeKinds("linked");
    const link = join(project.elsewhere, "link");
    symlinkSync(folder, link);
    const execArgv = ["--preserve-symlinks", "--preserve-symlinks-main"];
    expect(await outputOf(join(link, "main.mjs"), { execArgv })).toEqual(["default", "default", true]);
  });
});

describe("an installation", () => {
  test("by pnpm, of links into a store, is run from the store", async () => {
    const { folder, program } = makeProgram("pnpm");
    const store = join(folder, "node_modules", ".pnpm", "wool-ts@0.1.0", "node_modules");
    installRuntime(join(store, "wool-ts"));
    installDependencies(store);
    symlinkSync(join(".pnpm", "wool-ts@0.1.0", "node_modules", "wool-ts"), join(folder, "node_modules", "wool-ts"));
    expect(await outputOf(program)).toEqual([4, join(store, "wool-ts", "dist", "thread-main.cjs"), true]);
  });

  test.each(["zip", "asar"])("inside of a .%s is left alone where a new process could not read it", async (type) => {
    const { folder, program } = makeProgram(`packed-${type}`);
    const archive = join(folder, "cache", `wool-ts.${type}`, "node_modules");
    installRuntime(join(archive, "wool-ts"));
    installDependencies(archive);
    symlinkSync(join(archive, "wool-ts"), join(folder, "node_modules", "wool-ts"));
    expect(await outputOf(program)).toEqual([4, expect.stringMatching(/[\\/]wool-worker\.mjs$/), true]);
  });

  test("inside of a .zip is run from there with the hooks of Yarn, which read it", async () => {
    const { folder, program } = makeProgram("yarn");
    const archive = join(folder, "cache", "wool-ts.zip", "node_modules");
    installRuntime(join(archive, "wool-ts"));
    installDependencies(archive);
    symlinkSync(join(archive, "wool-ts"), join(folder, "node_modules", "wool-ts"));
    writeFileSync(join(folder, ".pnp.cjs"), "");
    const env = { NODE_OPTIONS: `--require ${join(folder, ".pnp.cjs")}` };
    expect(await outputOf(program, { env })).toEqual([4, join(archive, "wool-ts", "dist", "thread-main.cjs"), true]);
  });
});
