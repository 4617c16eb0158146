import { afterAll, beforeAll, expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

const SETTINGS = `import * as words from "words";\nwords.setLanguage("de");`;
let project: SmallProject;

beforeAll(() => {
  project = new SmallProject({
    "package.json": JSON.stringify({ name: "program" }),
    "settings.mjs": SETTINGS,
    "node_modules/words/package.json": JSON.stringify({ name: "words", main: "index.js" }),
    "node_modules/words/index.js": `
      let language = "en";
      exports.setLanguage = (name) => { language = name; };
      exports.set = (object, key, value) => { object[key] = value; };
      exports.options = { mark: "." };
      exports.hello = () => language + exports.options.mark;`,
    "node_modules/loud/index.js": `module.exports = (words) => { words.options.mark = "!!"; };`,
  });
});

afterAll(() => project.remove());

/** Runs a program. Returns what it writes, and its warnings about settings. */
async function runProgram(
  file: string,
  text: string,
  ...args: string[]
): Promise<{ output: string; warnings: string[] }> {
  project.write(file, text);
  const { stdout, stderr } = await project.run(file, ...args);
  const warnings = stderr.split("\n").filter((line) => line.includes("[WOOL_PACKAGE_SETTING]"));
  return { output: stdout.trim(), warnings };
}

const IMPORTS = `
  import { routine, shipping, WorkerPool } from "wool-ts";
  import * as words from "words";`;
const REQUIRES = `
  const { routine, shipping, WorkerPool } = require("wool-ts");
  const words = require("words");`;
const CALLS = (workerOptions = "{}"): string => `
  const hello = routine(async () => words.hello());
  const other = routine(async () => words.hello());
  async function main() {
    const pool = await WorkerPool.start({ size: 1, workerOptions: ${workerOptions} });
    console.log(await hello(), await hello(), await other());
    await pool.stop();
  }
  main();`;

test.each([
  ["a module", "a.mjs", IMPORTS, [] as string[]],
  ["CommonJS", "b.cjs", REQUIRES, []],
  ["TypeScript under tsx", "c.mts", IMPORTS, ["--import", "tsx"]],
  ["TypeScript as CommonJS under tsx", "d.ts", IMPORTS, ["--import", "tsx"]],
])("in %s a setting that workers do not have is told once, with its statement", async (_, file, start, args) => {
  const { output, warnings } = await runProgram(
    file,
    `${start}\nwords.setLanguage("de");\nwords.options.mark = "!";${CALLS()}`,
    ...args,
  );
  expect(output).toBe("en. en. en.");
  const language = new RegExp(
    `"hello" uses the package "words".*"\\S*words\\S*\\.setLanguage\\("de"\\)" in ${file}.*preload: \\["./settings.js"\\]`,
  );
  expect(warnings).toEqual([expect.stringMatching(language), expect.stringMatching(/words\S*\.options\.mark ?= ?"!"/)]);
});

test.each([
  ["in a function that runs at the start", `function prepare() { words.setLanguage("de"); }\nprepare();`],
  ["by another package", `import loud from "loud";\nloud(words);`],
  ["by Object.assign", `Object.assign(words.options, { mark: "?" });`],
  ["under a condition", `if (words) await words.setLanguage("de");`],
])("a setting is told when it is made %s", async (_, statements) => {
  const { warnings } = await runProgram("f.mjs", `${IMPORTS}\n${statements}${CALLS()}`);
  expect(warnings).toHaveLength(1);
});

test("a setting of a file that workers do not load is told, one of a file that they load is not", async () => {
  const home = `import { routine } from "wool-ts";\nimport * as words from "words";
    export const hello = routine(async () => words.hello());`;
  const program = (from: string): string => `
    import { WorkerPool } from "wool-ts";
    import "./settings.mjs";
    import { hello } from "./${from}";
    const pool = await WorkerPool.start({ size: 1 });
    console.log(await hello());
    await pool.stop();`;
  project.write("apart.mjs", home);
  project.write("together.mjs", `import "./settings.mjs";\n${home}`);
  const apart = await runProgram("g.mjs", program("apart.mjs"));
  expect(apart).toEqual({ output: "en.", warnings: [expect.stringContaining("in settings.mjs sets up")] });
  expect(await runProgram("h.mjs", program("together.mjs"))).toEqual({ output: "de.", warnings: [] });
});

test.each([
  ["preload has it", `import "./settings.mjs";`, `{ preload: ["./settings.mjs"] }`, "de. de. de."],
  ["setup makes it", `words.setLanguage("de");`, `{ setup: () => { words.setLanguage("de"); } }`, "de. de. de."],
  [
    "only a function that nobody calls makes it",
    `export const later = () => words.setLanguage("de");`,
    "{}",
    "en. en. en.",
  ],
  ["a statement only uses the package", `words.hello();`, "{}", "en. en. en."],
  ["a function changes what it is given", `words.set({}, "a", 1);`, "{}", "en. en. en."],
])("nothing is told when %s", async (_, statements, workerOptions, expected) => {
  const { output, warnings } = await runProgram("i.mjs", `${IMPORTS}\n${statements}${CALLS(workerOptions)}`);
  expect({ output, warnings }).toEqual({ output: expected, warnings: [] });
});

test("an explanation has the setting as a note", async () => {
  const { output } = await runProgram(
    "j.mjs",
    `${IMPORTS}
     words.setLanguage("de");
     const hello = routine(async () => words.hello());
     console.log(shipping.explain(hello).notes.join("\\n"));`,
  );
  expect(output).toMatch(/^"hello" uses the package "words".*words\.setLanguage\("de"\)/);
});
