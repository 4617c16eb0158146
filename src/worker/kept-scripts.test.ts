import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { KeptScripts } from "./kept-scripts.ts";

let folder: string;
let store: string;
const compiledFrom = vi.fn<(code: unknown) => void>();

vi.mock("node:vm", async (original) => {
  const vm = await original<typeof import("node:vm")>();
  return {
    ...vm,
    Script: class extends vm.Script {
      constructor(code: string, options: { cachedData?: Buffer }) {
        super(code, options);
        compiledFrom(
          options.cachedData === undefined ? "source" : this.cachedDataRejected === true ? "rejected" : "kept",
        );
      }
    },
  };
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout"] });
  folder = mkdtempSync(join(tmpdir(), "wool-kept-"));
  store = join(folder, "cache", "scripts.bin");
  write("one.cjs", 'const { add } = require("./two.cjs"); exports.sum = add(1, 2); exports.where = __filename;');
  write("two.cjs", "exports.add = (x, y) => x + y; exports.instance = {};");
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text);
}

/** Loads a file as a new thread does, and says how each script was compiled. */
function load(name = "one.cjs"): { exports: unknown; compiled: unknown[] } {
  const require = createRequire(join(folder, "main.cjs"));
  for (const path of Object.keys(require.cache)) if (path.startsWith(folder)) delete require.cache[path];
  compiledFrom.mockClear();
  const exports = new KeptScripts(folder, storeOf, require).load(name);
  vi.advanceTimersByTime(10_000);
  return { exports, compiled: compiledFrom.mock.calls.flat() };
}

const storeOf = (name: string) => (name === "one.cjs" ? store : join(folder, "cache", `${name}.bin`));
const result = () => ({ sum: 3, where: join(folder, "one.cjs") });

it("loads scripts that require each other, and the next time from compiled code", () => {
  expect(load()).toEqual({ exports: result(), compiled: ["source", "source"] });
  expect(load()).toEqual({ exports: result(), compiled: ["kept", "kept"] });
});

it("shares instances with whatever requires the same files", () => {
  load();
  const require = createRequire(join(folder, "main.cjs"));
  const scripts = new KeptScripts(folder, storeOf, require);
  expect(scripts.load("two.cjs")).toBe(require(join(folder, "two.cjs")));
});

it("compiles a script anew whose source has changed, be it as long as before", () => {
  load();
  write("two.cjs", "exports.add = (x, y) => x * y; exports.instance = {};");
  expect(load()).toEqual({ exports: { ...result(), sum: 2 }, compiled: ["kept", "source"] });
  expect(load().compiled).toEqual(["kept", "kept"]);
});

it.each([
  ["cut", (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)],
  ["empty", () => Buffer.alloc(0)],
  ["changed in one byte", (bytes: Buffer) => bytes.fill((bytes.at(-9) ?? 0) ^ 1, bytes.length - 9, bytes.length - 8)],
])("does without a file that is %s, and replaces it", (_title, damage) => {
  load();
  writeFileSync(store, damage(readFileSync(store)));
  expect(load()).toEqual({ exports: result(), compiled: ["source", "source"] });
  expect(load().compiled).toEqual(["kept", "kept"]);
});

it("keeps compiled code where only this user can read it, and leaves nothing else behind", () => {
  load();
  expect(readdirSync(join(folder, "cache"))).toEqual(["scripts.bin"]);
  expect(statSync(store).mode & 0o077).toBe(0);
  expect(statSync(join(folder, "cache")).mode & 0o077).toBe(0);
});

it("does without where the folder cannot be made", () => {
  write("cache", "a file");
  expect(load()).toEqual({ exports: result(), compiled: ["source", "source"] });
  expect(load().compiled).toEqual(["source", "source"]);
});

it("lets an error in a script through, and loads it again the next time", () => {
  const require = createRequire(join(folder, "main.cjs"));
  const scripts = new KeptScripts(folder, storeOf, require);
  write("one.cjs", 'throw new RangeError("not now")');
  expect(() => scripts.load("one.cjs")).toThrow(RangeError);
  write("one.cjs", "exports.ready = true;");
  expect(scripts.load("one.cjs")).toEqual({ ready: true });
});

it("keeps what is loaded later apart, and what is not loaded this time", () => {
  write("one.cjs", 'exports.late = () => require("./two.cjs").add(1, 2);');
  const runs = (run: (late: () => number) => void) => {
    const { exports, compiled } = load();
    compiledFrom.mockClear();
    run((exports as { late: () => number }).late);
    vi.advanceTimersByTime(10_000);
    return [compiled, compiledFrom.mock.calls.flat()];
  };
  expect(runs((late) => expect(late()).toBe(3))).toEqual([["source"], ["source"]]);
  expect(readdirSync(join(folder, "cache")).toSorted()).toEqual(["scripts.bin", "two.cjs.bin"]);
  expect(runs(() => {})).toEqual([["kept"], []]);
  expect(runs((late) => expect(late()).toBe(3))).toEqual([["kept"], ["kept"]]);
});

it("keeps compiled code of scripts that others had loaded before this time", () => {
  write("three.cjs", 'exports.sum = require("./two.cjs").add(2, 2);');
  const require = createRequire(join(folder, "main.cjs"));
  const again = (...names: string[]) => {
    for (const path of Object.keys(require.cache)) if (path.startsWith(folder)) delete require.cache[path];
    compiledFrom.mockClear();
    const scripts = new KeptScripts(folder, storeOf, require);
    for (const name of names) scripts.load(name);
    vi.advanceTimersByTime(10_000);
    return compiledFrom.mock.calls.flat();
  };
  again("three.cjs");
  write("three.cjs", 'exports.sum = require("./two.cjs").add(2, 3);');
  expect(again("two.cjs", "three.cjs")).toEqual(["source", "source"]);
  expect(again("three.cjs")).toEqual(["kept", "kept"]);
});

it("takes scripts from a set, and those that it does not have from their files", () => {
  write("three.cjs", 'exports.late = () => require("./one.cjs");');
  const bodyOfTwo =
    'exports.add = (x, y) => x + y + 10; exports.where = [__filename, __dirname, require("./three.cjs").late];';
  write(
    "set.cjs",
    `module.exports = { "two.cjs": (function (exports, require, module, __filename, __dirname) {${bodyOfTwo}}) };`,
  );
  const require = createRequire(join(folder, "main.cjs"));
  const loadFromSet = () => {
    for (const path of Object.keys(require.cache)) if (path.startsWith(folder)) delete require.cache[path];
    compiledFrom.mockClear();
    const scripts = new KeptScripts(folder, storeOf, require);
    scripts.useSet("set.cjs");
    const { where } = scripts.load("two.cjs") as { where: [string, string, () => { sum: number }] };
    // The file itself is in the cache under its own name, for whatever requires it.
    expect(require("./two.cjs")).toBe(scripts.load("two.cjs"));
    expect(where.slice(0, 2)).toEqual([join(folder, "two.cjs"), folder]);
    expect(where[2]().sum).toBe(13);
    vi.advanceTimersByTime(10_000);
    return compiledFrom.mock.calls.flat();
  };
  expect(loadFromSet()).toEqual(["source", "source", "source"]);
  expect(loadFromSet()).toEqual(["kept", "kept", "kept"]);
});
