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

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "wool-registry-"));
  mkdirSync(join(folder, "node_modules", "registry"), { recursive: true });
  symlinkSync(root, join(folder, "node_modules", "wool-ts"));
  writeFileSync(join(folder, "node_modules", "registry", "package.json"), '{ "name": "registry", "main": "index.js" }');
  writeFileSync(join(folder, "node_modules", "registry", "index.js"), REGISTRY);
  writeFileSync(join(folder, "main.mjs"), PROGRAM);
});
afterAll(() => rmSync(folder, { recursive: true }));

test("what a worker's package does not have travels, and the rest of the package stays the worker's own", async () => {
  expect(await outputOf(join(folder, "main.mjs"))).toEqual(["I am User", true, "I am User"]);
});
