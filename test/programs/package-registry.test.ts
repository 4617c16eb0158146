import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { outputOf } from "../support/run-to-end.ts";

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/** A package that keeps what the program defines, as mongoose keeps models. */
const REGISTRY = `
const registry = {
  pid: process.pid,
  models: {},
  define(name) {
    const { [name]: made } = { [name]: class { greet() { return "I am " + name; } } };
    registry.models[name] = made;
    return made;
  },
};
module.exports = registry;
`;

/** The worker has the package, and not what the program has defined in it. */
const PROGRAM = `
import { routine, WorkerPool } from "wool-ts";
import registry from "registry";
const User = registry.define("User");
const pool = await WorkerPool.start({ size: 1 });
const greet = routine(async () => new User().greet());
const loadedIn = routine(async () => registry.pid);
console.log(JSON.stringify([await greet(), (await loadedIn()) !== process.pid, await greet()]));
await pool.stop();
`;

/** A package whose classes are behind wrappers that it exports, as the types of sequelize are. */
const WRAPPING = `
class Kind {
  constructor(name) { this.name = name; }
  title() { return "a " + this.name; }
}
class Older {}
function Wrapper(name) { return Object.assign(new Older(), { name }); }
Wrapper.prototype = Older.prototype;
exports.Kind = new Proxy(Kind, { apply: (target, _self, args) => new target(...args) });
exports.Wrapper = Wrapper;
`;

const WRAPPED_PROGRAM = `
import { routine, WorkerPool } from "wool-ts";
import { Kind, Wrapper } from "wrapping";
const pool = await WorkerPool.start({ size: 1 });
const look = routine(async (kind, old) => [kind instanceof Kind, kind.title(), old instanceof Wrapper, old.name]);
const made = await routine(async () => Kind("circle"))();
console.log(JSON.stringify([await look(Kind("square"), new Wrapper("x")), made instanceof Kind, made.title()]));
await pool.stop();
`;

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-registry-"));
  mkdirSync(join(folder, "node_modules", "registry"), { recursive: true });
  symlinkSync(root, join(folder, "node_modules", "wool-ts"));
  writeFileSync(join(folder, "node_modules", "registry", "package.json"), '{ "name": "registry", "main": "index.js" }');
  writeFileSync(join(folder, "node_modules", "registry", "index.js"), REGISTRY);
  writeFileSync(join(folder, "main.mjs"), PROGRAM);
  mkdirSync(join(folder, "node_modules", "wrapping"));
  writeFileSync(join(folder, "node_modules", "wrapping", "package.json"), '{ "name": "wrapping", "main": "index.js" }');
  writeFileSync(join(folder, "node_modules", "wrapping", "index.js"), WRAPPING);
  writeFileSync(join(folder, "wrapped.mjs"), WRAPPED_PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true }));

test("what a worker's package does not have travels, and the rest of the package stays the worker's own", async () => {
  expect(await outputOf(join(folder, "main.mjs"))).toEqual(["I am User", true, "I am User"]);
});

test("a class that a package exports only inside of a wrapper is the worker's own", async () => {
  const seen = await outputOf(join(folder, "wrapped.mjs"));
  expect(seen).toEqual([[true, "a square", true, "x"], true, "a circle"]);
});
