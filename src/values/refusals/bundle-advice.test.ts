import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { bundleAdvice } from "./bundle-advice.ts";

const folder = mkdtempSync(join(tmpdir(), "wool-advice-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function load(name: string, text: string): Promise<Record<string, object>> {
  writeFileSync(join(folder, name), text);
  return (await import(/* @vite-ignore */ pathToFileURL(join(folder, name)).href)) as Record<string, object>;
}

const BUNDLE = `
// node_modules/@scope/cache/index.js
function cached() {}
var Cache = class {};
var cache = new Cache();

// src/app.ts
function own() {}
// not a path, and no.section either
function ownToo() {}
export { cached, cache, own, ownToo };
`;

describe("bundleAdvice", () => {
  it("names the package's module and the bundle, for functions and for what classes made", async () => {
    const { cached, cache, own } = await load("app.mjs", BUNDLE);
    const advice =
      " This is code of node_modules/@scope/cache/index.js inside the bundle app.mjs: leave packages out of it " +
      '(esbuild: packages: "external"), and workers import them by themselves.';
    expect(bundleAdvice([cached])).toBe(advice);
    expect(bundleAdvice([cache])).toBe(advice);
    expect(bundleAdvice([new WeakMap(), 1, cached, own])).toBe(advice);
  });

  it("has nothing to say of the program's own code in the bundle", async () => {
    const { own, ownToo } = await load("own.mjs", BUNDLE);
    expect(bundleAdvice([own, ownToo])).toBe("");
  });

  it("has nothing to say of code that is in no bundle", async () => {
    const { fn } = await load("plain.mjs", "// see node_modules/cache/index.js for more\nexport function fn() {}\n");
    expect(bundleAdvice([fn, {}, null, undefined, parseInt, new Map()])).toBe("");
  });

  it("asks nothing of a Proxy", () => {
    const handler = {
      getPrototypeOf: () => {
        throw new Error("asked");
      },
    };
    expect(bundleAdvice([new Proxy({}, handler), new Proxy(() => undefined, handler)])).toBe("");
  });
});
