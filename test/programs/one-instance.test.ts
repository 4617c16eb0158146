import { createRequire } from "node:module";
import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

/** Within a call a module is one, whichever way its parts travel: by import, in closures, through other workers. */

async function outputOf(files: Record<string, string>, program: string, options?: { tsx: false }): Promise<unknown> {
  const project = new SmallProject(files, options);
  try {
    const { stdout } = await project.run(program);
    return JSON.parse(stdout);
  } finally {
    project.remove();
  }
}

/** Starts a pool, runs an expression for each line, and prints the results. */
const results = (...expressions: readonly string[]): string => `
  (async () => {
    const pool = await WorkerPool.start({ size: 1 });
    const results = [];
    for (const each of [${expressions.map((each) => `() => ${each}`).join()}]) results.push(await each());
    console.log(JSON.stringify(results));
    await pool.stop();
  })();`;

const COUNTER = `
  export let counter = 0;
  export const table = new Map();
  export const id = process.pid + "-" + Math.random();
  export const getId = () => id;
  export const LIMIT = 3;
  export function up() { table.set("n", ++counter); return counter; }
  export const reader = { read: () => counter };
  let first = { n: 1 };
  export const replace = () => { first = { n: 2 }; return first; };
  export default first;`;

test("in calls that tasks make, and in functions that come back", async () => {
  const main = `
    import { routine, WorkerPool } from "wool-ts";
    import { counter, reader, table, up } from "./counter.mjs";
    import * as whole from "./counter.mjs";
    const named = routine(async () => [up(), table.get("n"), counter, reader.read()]);
    const space = routine(async () => [up(), whole.table.get("n"), whole.counter]);
    const nested = routine(async () => [await named(), await space()]);
    const make = routine(async () => () => [up(), table.get("n"), counter]);
    const call = routine(async (fn) => fn());
    const passedOn = routine(async () => call(await make()));
    ${results("named()", "nested()", "passedOn()", "make().then((fn) => [fn(), table.get('n')])")}`;
  expect(await outputOf({ "main.mjs": main, "counter.mjs": COUNTER }, "main.mjs")).toEqual([
    [1, 1, 1, 1],
    [
      [2, 2, 2, 2],
      [3, 3, 3],
    ],
    [4, 4, 4],
    // The last one runs here.
    [[1, 1, 1], 1],
  ]);
});

test("for values that each process computes, what is exported again, and what is imported later", async () => {
  const main = `
    import { routine, WorkerPool } from "wool-ts";
    import first, { counter, getId, id, replace, up } from "./counter.mjs";
    import { counter as again, id as sameId, LIMIT, table } from "./barrel.mjs";
    const computed = routine(async () => [id === getId(), sameId === id, id.startsWith(process.pid + "-"), LIMIT]);
    const exportedAgain = routine(async () => [up() === again, table.get("n") === again]);
    const copied = routine(async () => [replace().n, first.n]);
    const later = routine(async () => (await import("./later.mjs")).load() === counter);
    const data = routine(async () => [id.startsWith(process.pid + "-"), counter]);
    ${results("computed()", "exportedAgain()", "copied()", "later()", "data()")}`;
  const files = {
    "main.mjs": main,
    "counter.mjs": COUNTER,
    "barrel.mjs": 'export * from "./counter.mjs";',
    "later.mjs": 'import { up } from "./counter.mjs";\nexport const load = () => up();',
  };
  expect(await outputOf(files, "main.mjs")).toEqual([
    [true, true, true, 3],
    [true, true],
    [2, 1],
    true,
    // Nothing of the module runs, so it is the data of the caller.
    [false, 0],
  ]);
});

test("for variables that a package exports", async () => {
  const main = `
    import { routine, WorkerPool } from "wool-ts";
    import { configured, counter, current, handle, id, getId, LIMIT, other, set, up, version } from "live-kit";
    import { configure, setHandler } from "live-kit/more";
    import * as kit from "live-kit";
    const all = routine(async () => {
      const n = up();
      set(n);
      setHandler(() => "second");
      configure("yes");
      return [n === counter, kit.counter === n, id === getId(), kit.id === id, current.n === n, other > 1];
    });
    const read = routine(async () => [LIMIT, version, configured, handle()]);
    const nested = routine(async () => [await all(), await read()]);
    ${results("all()", "read()", "nested()", "[counter, LIMIT, version, configured ?? null, handle()]")}`;
  const files = {
    "main.mjs": main,
    "node_modules/live-kit/package.json": JSON.stringify({
      name: "live-kit",
      type: "module",
      exports: { ".": "./index.js", "./more": "./more.js" },
    }),
    "node_modules/live-kit/index.js": `
      export * from "./state.js";
      export { handler as handle, version } from "./more.js";
      import { configured } from "./more.js";
      export { configured };`,
    "node_modules/live-kit/state.js": `
export let counter = 0;
export const up = () => ++counter;
export const id = process.pid + "-" + Math.random();
export const getId = () => id;
export const LIMIT = 3;
let current = { n: 0 }, another = 1;
export function set(n) { [current, another] = [{ n }, another + 1]; }
export { current, another as other };`,
    "node_modules/live-kit/more.js": `
export let handler = () => "first";
export const setHandler = (fn) => { handler = fn; };
export const version = "1.2.3";
export let configured;
export function configure(value) { configured = value; }`,
  };
  const same = [true, true, true, true, true, true];
  const read = [3, "1.2.3", "yes", "second"];
  expect(await outputOf(files, "main.mjs")).toEqual([same, read, [same, read], [0, 3, "1.2.3", null, "first"]]);
});

test("in closures of CommonJS modules that use their exports", async () => {
  const files = {
    "package.json": "{}",
    "tally.js": `
      exports.count = 0;
      exports.list = [1];
      exports.up = () => ++exports.count;
      exports.byExports = () => () => [exports.up(), exports.count];
      exports.byModule = () => () => [module.exports.up(), module.exports.count];
      exports.data = () => () => [exports.count, exports.list];`,
    // As tsc writes it.
    "compiled.js": `
      Object.defineProperty(exports, "__esModule", { value: true });
      exports.counter = void 0;
      exports.up = up;
      exports.counter = 0;
      function up() { return exports.counter += 1; }
      exports.make = () => () => [up(), exports.counter];`,
    "main.js": `
      const { routine, WorkerPool } = require("wool-ts");
      const tally = require("./tally.js");
      const compiled = require("./compiled.js");
      const call = routine(async (fn) => fn());
      const both = routine(async (fn) => [fn(), tally.up(), tally.count]);
      ${results("call(tally.byExports())", "call(tally.byModule())", "both(tally.byExports())", "call(compiled.make())", "call(tally.data())")}`,
  };
  expect(await outputOf(files, "main.js")).toEqual([
    [1, 1],
    [2, 2],
    [[3, 3], 4, 4],
    [1, 1],
    [0, [1]],
  ]);
});

const COMPILED = {
  esbuild: `
    var __copyProps = (to, from) => {
      for (let key of Object.getOwnPropertyNames(from))
        if (!Object.hasOwn(to, key)) Object.defineProperty(to, key, { get: () => from[key], enumerable: true });
      return to;
    };
    var __toESM = (mod) => __copyProps(Object.create(Object.getPrototypeOf(mod)), mod);
    var counter = __toESM(require("./esbuild-counter.js"));
    const data = routine(async () => counter.counter);
    const code = routine(async (fn) => [fn() === counter.up() - 1, counter.counter === counter.up() - 1]);
    const { up } = counter;`,
  "esbuild-counter": `
    var all = {};
    var __export = (target, all) => {
      for (var name in all) Object.defineProperty(target, name, { get: all[name], enumerable: true });
    };
    var __copyProps = (to, from) => {
      for (let key of Object.getOwnPropertyNames(from))
        if (!Object.hasOwn(to, key)) Object.defineProperty(to, key, { get: () => from[key], enumerable: true });
      return to;
    };
    __export(all, { counter: () => counter, default: () => describe, up: () => up });
    module.exports = __copyProps(Object.defineProperty({}, "__esModule", { value: true }), all);
    let counter = 0;
    function up() { return ++counter; }
    function describe() { return counter; }`,
  babel: `
    var _counter = _interopRequireWildcard(require("./swc-counter.js"));
    var whole = _counter;
    function _interopRequireWildcard(e) { return e; }
    const data = routine(async () => whole.counter);
    const code = routine(async (fn) => [fn() === (0, _counter.up)() - 1, whole.counter === (0, _counter.up)() - 1]);
    const { up } = _counter;`,
  "swc-counter": `
    Object.defineProperty(exports, "__esModule", { value: true });
    function _export(target, all) {
      for (var name in all)
        Object.defineProperty(target, name, { enumerable: true, get: Object.getOwnPropertyDescriptor(all, name).get });
    }
    _export(exports, { get counter () { return counter; }, get up () { return up; } });
    let counter = 0;
    function up() { return ++counter; }`,
};

test.each(["esbuild", "babel"] as const)("in what %s makes of CommonJS", async (compiler) => {
  const files = {
    "package.json": "{}",
    ...Object.fromEntries(Object.entries(COMPILED).map(([name, text]) => [`${name}.js`, text])),
    "main.js": `
      const { routine, WorkerPool } = require("wool-ts");
      ${COMPILED[compiler]}
      const call = routine(async (fn) => fn());
      ${results("data()", "code(up)", "data()", "code(up)", "call(up)")}`,
  };
  expect(await outputOf(files, "main.js")).toEqual([0, [true, true], 0, [true, true], 7]);
});

test("a module that travels as code, and that the code loads as well, is warned of", async () => {
  const project = new SmallProject({
    "vault.mjs": "export let opened = 0;\nexport class Vault { #n = 1; open() { opened += 1; return this.#n; } }",
    "later.mjs": 'import { Vault } from "./vault.mjs";\nexport const open = () => new Vault().open();',
    "other.mjs": "export const one = 1;",
    "main.mjs": `
      import { routine, WorkerPool } from "wool-ts";
      import { opened, Vault } from "./vault.mjs";
      const twice = routine(async () => [(await import("./later.mjs")).open(), new Vault().open(), opened]);
      const once = routine(async () => [(await import("./other.mjs")).one, new Vault().open(), opened]);
      ${results("twice()", "once()", "twice()")}`,
  });
  try {
    const { stdout, stderr } = await project.run("main.mjs");
    const counted = [1, 1, 1];
    expect(JSON.parse(stdout)).toEqual([counted, counted, counted]);
    expect(stderr.match(/WOOL_SECOND_INSTANCE/g)).toHaveLength(1);
    expect(stderr).toContain(
      '"twice": "./vault.mjs" travels as code with this function, and the function itself loads',
    );
    expect(stderr).toContain('Import "./later.mjs" at the top of the file instead');
  } finally {
    project.remove();
  }
});

test("a file that imports the one with the routine is warned of, and one that imports types is not", async () => {
  const files = {
    "chunk.mjs": 'import { shared } from "./main.mjs";\nexport const read = () => shared;',
    "typed.mts": 'import type { Shared } from "./main.mjs";\nexport const read = (shared: Shared) => shared;',
    "main.mjs": `
      import { routine, shipping, WorkerPool } from "wool-ts";
      export const shared = { n: 1 };
      const chunk = routine(async () => (await import("./chunk.mjs")).read());
      const typed = routine(async () => (await import("./typed.mts")).read(shared));
      ${results("shipping.explain(chunk).notes", "shipping.explain(typed).notes.length")}`,
  };
  const expected = [
    [expect.stringMatching(/^"\.\/main\.mjs" travels as code .* loads "\.\/chunk\.mjs", which imports it/)],
    0,
  ];
  expect(await outputOf(files, "main.mjs")).toEqual(expected);
});

test("an export of a module that only the worker has loaded is refused with the name of the module", async () => {
  const files = {
    "later.mjs": "export const helper = () => 1;",
    "main.mjs": `
      import { routine, WorkerPool } from "wool-ts";
      const helper = routine(async () => (await import("./later.mjs")).helper);
      ${results("helper().then(() => 'no error', ({ message }) => message)")}`,
  };
  const expected = /export of "later\.mjs", which this process has not loaded\. Import it here, too, or return data/;
  expect(await outputOf(files, "main.mjs")).toEqual([expect.stringMatching(expected)]);
});

test("a routine requires TypeScript, with the compiler of the project", async () => {
  const compiler = createRequire(import.meta.url).resolve("@typescript/typescript6");
  const files = {
    "package.json": "{}",
    "near.ts": 'import { Level } from "./level";\nexport const high = (): string => Level[Level.High as number]!;',
    "level.ts": "export enum Level { Low = 1, High = 2 }",
    "node_modules/typescript/index.js": `module.exports = require(${JSON.stringify(compiler)});`,
    "main.js": `
      const { routine, WorkerPool } = require("wool-ts");
      const near = routine(async () => [require("./near").high(), require.resolve("./near").endsWith("near.ts")]);
      ${results("near()")}`,
  };
  expect(await outputOf(files, "main.js", { tsx: false })).toEqual([["High", true]]);
});

test("a routine that requires TypeScript says what is missing where nothing compiles it", async () => {
  const files = {
    "package.json": "{}",
    "near.ts": "export const high = (): string => 'High';",
    "main.js": `
      const { routine, WorkerPool } = require("wool-ts");
      const near = routine(async () => require("./near").high());
      ${results('near().catch(({ message }) => message.replace(/^.*cannot load/s, ""))')}`,
  };
  const [message] = (await outputOf(files, "main.js", { tsx: false })) as [string];
  const isStripped = Boolean(Reflect.get(process.features, "typescript"));
  expect(message).toMatch(isStripped ? /^High$/ : /near\.ts: .* add tsx to its project/);
});
