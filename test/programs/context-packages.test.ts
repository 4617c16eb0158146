import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

const DECLARATION = `
  import { ContextVar } from "wool-ts";
  export const user = new ContextVar("user", { default: "nobody" });
  export const read = () => user.get();`;

const PROGRAM = `
  import { ContextVar, routine, WorkerPool } from "wool-ts";
  import { read, user } from "./vars.mjs";
  import * as a from "lib-a";
  import * as b from "lib-b";
  const { user: reloaded } = await import("./vars.mjs?again");
  const look = routine(async () => {
    const loaded = await import("./vars.mjs");
    return [user.get(), read(), loaded.user.get(), loaded.read(), reloaded.get(), a.read(), a.user.get(), b.read()];
  });
  const pool = await WorkerPool.start({ size: 1 });
  const set = await user.run("own", () => a.user.run("of a", () => b.user.run("of b", () => look())));
  const unset = await look();
  await pool.stop();
  const first = new ContextVar("twice");
  let problem;
  try {
    new ContextVar("twice");
  } catch (error) {
    problem = error.name + ": " + error.message;
  }
  console.log(JSON.stringify({ set, unset, problem }));`;

test("variables belong to the package that declares them, are one however often that is loaded, and are declared once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "wool-packages-"));
  try {
    const write = (path: string, text: string): void => writeFileSync(join(folder, path), text);
    write("package.json", JSON.stringify({ name: "program", type: "module" }));
    for (const name of ["lib-a", "lib-b"]) {
      mkdirSync(join(folder, "node_modules", name), { recursive: true });
      write(`node_modules/${name}/package.json`, JSON.stringify({ name, type: "module", exports: "./index.js" }));
      write(`node_modules/${name}/index.js`, DECLARATION);
    }
    symlinkSync(root, join(folder, "node_modules", "wool-ts"));
    write("vars.mjs", DECLARATION);
    write("main.mjs", PROGRAM);
    const { stdout } = await run(process.execPath, ["main.mjs"], { cwd: folder });
    const { set, unset, problem } = JSON.parse(stdout) as { set: string[]; unset: string[]; problem: string };
    expect(set).toEqual(["own", "own", "own", "own", "own", "of a", "of a", "of b"]);
    expect(unset).toEqual(unset.map(() => "nobody"));
    expect(problem).toMatch(
      /^InvalidArgument: .*"twice" is declared twice, at \S+main\.mjs:\d+:\d+ and at \S+main\.mjs:\d+:\d+/,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
