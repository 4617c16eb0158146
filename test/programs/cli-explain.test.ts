import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Explanation } from "wool-ts";
import { fixture, type ProgramEnd, runProgram, startProgram } from "../support/run-program.ts";

const packageRoot = fileURLToPath(new URL("../..", import.meta.url));
const cli = join(packageRoot, "dist", "cli.js");
const tsx = dirname(createRequire(import.meta.url).resolve("tsx/package.json"));

let project: string;
/** A project without tsx. */
let bare: string;

function makeProject(packages: Readonly<Record<string, string>>): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "wool-cli-")));
  cpSync(fixture("cli"), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
  mkdirSync(join(folder, "node_modules"));
  for (const [name, path] of Object.entries(packages))
    symlinkSync(path, join(folder, "node_modules", name), "junction");
  return folder;
}

beforeAll(() => {
  project = makeProject({ "wool-ts": packageRoot, tsx });
  bare = makeProject({ "wool-ts": packageRoot });
});
afterAll(() => {
  for (const folder of [project, bare]) rmSync(folder, { recursive: true, force: true });
});

/** The built command line, with colours left to itself to decide. */
async function wool(
  args: readonly string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<ProgramEnd> {
  const { cwd = project, env = {} } = options;
  return await runProgram(cli, { args, cwd, env: { FORCE_COLOR: undefined, NO_COLOR: undefined, ...env } });
}

function parsed<T>({ stdout }: ProgramEnd): T {
  const value: T = JSON.parse(stdout);
  return value;
}

describe("what can travel", () => {
  test("an export of a module goes by reference, with a hint at what else may happen", async () => {
    const end = await wool(["explain", "library.mjs#add"]);
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(end.stdout).toContain("add (function) travels by reference\n");
    expect(end.stdout).toContain('why: it is the export "add" of "library.mjs"');
    expect(end.stdout).toContain("--entry shows what that is.");
  });

  test("the entry file goes by value, with sizes", async () => {
    const end = await wool(["explain", "library.mjs#api.fetchPage", "--entry"]);
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(end.stdout).toContain("api.fetchPage (function) travels by value\n");
    expect(end.stdout).toMatch(/size: \d+ B and \d+ B of code/);
    expect(end.stdout).toMatch(
      /├─ add = \[Function: add\] +by value +\d+ B \+ \d+ B code {2}its module does not travel/,
    );
    expect(end.stdout).toMatch(/└─ rate = 0\.2 +by value +\d+ B {2}a copy of its value/);
  });

  test("everything that a module exports is explained, each once", async () => {
    const end = await wool(["explain", "library.mjs"]);
    expect(end.code).toBe(0);
    expect(end.stdout.match(/^\S+ \(\w+\)/gm)).toEqual(["add (function)", "api.fetchPage (function)"]);
    expect(end.stdout).toContain("2 exports: all can travel");
  });

  test("a class, a method and a getter are found by their path, and what the file prints is not in the way", async () => {
    const end = await wool(["explain", "shop.mjs#default", "--json"]);
    expect(end).toMatchObject({ code: 0, stderr: "the shop opens\n" });
    expect(parsed<Explanation>(end)).toMatchObject({ export: "default", name: "Shop", kind: "class", by: "value" });
    for (const path of ["default.prototype.price", "default.prototype.total"]) {
      const end = await wool(["explain", `shop.mjs#${path}`]);
      expect(end.code).toBe(0);
      expect(end.stdout).toContain(`${path} (function) travels by value\n`);
    }
  });

  test("CommonJS, also exports that are not seen from outside", async () => {
    const end = await wool(["explain", "plain.cjs#last", "--entry"]);
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(end.stdout).toMatch(/basename = \[Function: basename\] +by reference +\d+ B {2}every process has it/);
    const reference = await wool(["explain", "plain.cjs#first"]);
    expect(reference.stdout).toContain('it is the export "first" of "plain.cjs"');
  });

  test("TypeScript with decorators runs by the tsx of the project", async () => {
    const end = await wool(["explain", "typed.ts#Wall.prototype.cover", "--entry"]);
    expect(end).toMatchObject({ code: 0, stderr: "" });
    expect(end.stdout).toContain("Wall.prototype.cover (routine) travels by value");
    expect(end.stdout).toContain("colours = { red: 1 }");
    expect((await wool(["explain", "typed.ts#paint"])).stdout).toContain('it is the export "paint" of "typed.ts"');
  });

  test("a file that leaves something running does not keep the command from ending", async () => {
    expect(await wool(["explain", "goes-on.mjs"])).toMatchObject({ code: 0 });
  });

  test("a file of another folder, named relative to this one", async () => {
    const end = await wool(["explain", join("..", "library.mjs#add")], { cwd: join(project, "node_modules") });
    expect(end.stdout).toContain('it is the export "add" of "library.mjs"');
  });
});

describe("what is refused", () => {
  test("is told with the way to it and what to write instead", async () => {
    const end = await wool(["explain", "pages.mjs#fetchPage", "--entry"]);
    expect(end).toMatchObject({ code: 1, stderr: "" });
    expect(end.stdout).toContain("fetchPage (routine) cannot travel\n");
    const path = "fetchPage -> connect -> client -> socket";
    expect(end.stdout).toContain(`  refused: ${path}: net.Socket holds an open handle\n`);
    expect(end.stdout).toContain(
      "  fix: Make it inside the routine, from data that is passed. Or have each worker make it",
    );
    expect(end.stdout).toMatch(/├─ ✖ connect = \[Function: connect\] +refused/);
    expect(end.stdout).toMatch(/└─ ✖ client = .* +refused/);
    expect(end.stdout).toMatch(/└─ limits = \{ retries: 3 \} +by value/);
    expect(end.stdout.split(path)).toHaveLength(3);
  });

  test("is counted among all exports", async () => {
    const end = await wool(["explain", "pages.mjs", "--entry"]);
    expect(end.code).toBe(1);
    expect(end.stdout).toContain("2 exports: 1 cannot travel");
  });
});

describe("--json", () => {
  test("prints one explanation", async () => {
    const explanation = parsed<Explanation>(await wool(["explain", "pages.mjs#fetchPage", "--json", "--entry"]));
    expect(explanation).toMatchObject({ export: "fetchPage", kind: "routine", by: "nothing" });
    expect(explanation.refusal).toEqual({
      path: "fetchPage -> connect -> client -> socket",
      reason: "net.Socket holds an open handle",
      fix: expect.stringMatching(
        /^Make it inside the routine, from data that is passed\. .*const client = perWorker\(\(\) => \(\{ name: "db", socket: new net\.Socket\(\) \}\)\)/,
      ),
    });
    expect(explanation.parts.map(({ name }) => name)).toEqual(["connect", "limits"]);
  });

  test("prints a list of them for a whole module", async () => {
    const list = parsed<Explanation[]>(await wool(["explain", "pages.mjs", "--json", "--entry"]));
    expect(list.map(({ name, by }) => [name, by])).toEqual([
      ["count", "value"],
      ["fetchPage", "nothing"],
    ]);
    expect(list[0]?.bytes).toBeGreaterThan(0);
  });
});

test("a reader that has seen enough is no failure", async () => {
  const { child, ended } = startProgram(cli, { args: ["explain", "library.mjs"], cwd: project });
  child.stdout?.destroy();
  expect(await ended).toMatchObject({ code: 0, stderr: "" });
});

describe("colours", () => {
  const target = ["explain", "library.mjs#add"];
  test("are not written to a pipe, unless they are asked for", async () => {
    expect((await wool(target)).stdout).not.toContain("\u001B");
    expect((await wool(target, { env: { FORCE_COLOR: "1" } })).stdout).toContain("\u001B[32mtravels by reference");
    expect((await wool(target, { env: { FORCE_COLOR: "0" } })).stdout).not.toContain("\u001B");
    expect((await wool(target, { env: { NO_COLOR: "1" } })).stdout).not.toContain("\u001B");
  });
});

describe("a function without a name", () => {
  test("is called by the path to it", async () => {
    const { stdout } = await wool(["explain", "nameless.mjs#steps.0", "--entry"]);
    expect(stdout).toContain("the same as steps.0");
  });

  test("is called so where it is refused", async () => {
    const { stdout, code } = await wool(["explain", "nameless.mjs#guarded"]);
    expect(stdout).toContain(
      "refused: guarded: a Proxy of a function cannot be looked into: it does not show its target",
    );
    expect(code).toBe(1);
  });
});

describe("what is not understood", () => {
  const cases: [string, string[], RegExp][] = [
    ["a command that there is not", ["explian"], /^wool: there is no command explian\. Did you mean explain\?/],
    ["an option that there is not", ["--verison"], /^wool: there is no option --verison\. Did you mean --version\?/],
    [
      "an option of the command that there is not",
      ["explain", "--jsn", "data.mjs"],
      /^wool: there is no option --jsn; did you mean --json\?/,
    ],
    ["no file", ["explain"], /^wool: which file\? Usage: wool explain FILE/],
    ["a folder", ["explain", "node_modules"], /^wool: node_modules is a folder, not a file\./],
    ["two files", ["explain", "a.mjs", "b.mjs"], /^wool: one file at a time, and b\.mjs is a second one/],
    [
      "a missing file",
      ["explain", "libary.mjs#add"],
      /^wool: there is no file libary\.mjs\. Did you mean library\.mjs\?/,
    ],
    [
      "a missing export",
      ["explain", "library.mjs#ad"],
      /no export ad\. Did you mean add\? It exports: add, again, api, rate\./,
    ],
    [
      "a missing member",
      ["explain", "library.mjs#api.get"],
      /^wool: api of library\.mjs has no get\. It has: fetchPage\./,
    ],
    [
      "a member of a number",
      ["explain", "library.mjs#rate.x"],
      /^wool: rate of library\.mjs is a number, which has no x\./,
    ],
    [
      "an object",
      ["explain", "library.mjs#api"],
      /is an object, not a function, class or routine\. It holds: api\.fetchPage\./,
    ],
    ["a module of data", ["explain", "data.mjs"], /exports no function, class or routine\. It exports: answer\./],
    [
      "a file that fails",
      ["explain", "throws.mjs"],
      /^wool: throws\.mjs failed while it was imported:\nError: no configuration/,
    ],
    ["a file that ends the process", ["explain", "exits.mjs"], /^wool: the file ended the process/],
  ];

  test.each(cases)("%s", async (_name, args, message) => {
    const end = await wool(args);
    expect(end).toMatchObject({ code: 2, stdout: "" });
    expect(end.stderr).toMatch(message);
  });

  test("TypeScript that nothing here runs", async () => {
    const end = await wool(["explain", "typed.ts#paint"], { cwd: bare });
    expect(end.code).toBe(2);
    expect(end.stderr).toMatch(/^wool: typed\.ts [^]*Add tsx to its project: npm install --save-dev tsx\./);
  });
});

describe("help", () => {
  test("names the commands, and tells of each", async () => {
    for (const args of [[], ["help"], ["--help"]]) {
      const end = await wool(args);
      expect(end).toMatchObject({ code: 0, stderr: "" });
      expect(end.stdout).toMatch(/^Usage: wool COMMAND/);
      expect(end.stdout).toContain("explain ");
    }
    const help = await wool(["help", "explain"]);
    expect(help.stdout).toContain("its top level runs");
    expect((await wool(["explain", "--help"])).stdout).toBe(help.stdout);
  });

  test("tells the version", async () => {
    const { version }: { version: string } = JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8"));
    expect(await wool(["--version"])).toMatchObject({ code: 0, stdout: `${version}\n` });
  });
});

test("the page about it shows what it really prints", async () => {
  const page = readFileSync(join(packageRoot, "docs", "cli.md"), "utf8");
  const source = /```js\n([\s\S]*?)```/.exec(page)?.[1] ?? "";
  const examples = [...page.matchAll(/```console\n\$ npx wool (explain .*)\n([\s\S]*?)```/g)];
  expect(examples.length).toBeGreaterThanOrEqual(2);
  writeFileSync(join(project, "report.mjs"), source);
  // Code holds the path of its file, which has another length elsewhere.
  const comparable = (text: string): string => text.replace(/\d+ B (of )?code/g, "some $1code").replace(/ +/g, " ");
  for (const [, command = "", output = ""] of examples) {
    const { stdout } = await wool(command.split(" "));
    expect(comparable(stdout)).toBe(comparable(output));
  }
});
