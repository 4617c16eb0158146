import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

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
  const packages = ["lib-a", "lib-b"].flatMap((name) => [
    [`node_modules/${name}/package.json`, JSON.stringify({ name, type: "module", exports: "./index.js" })],
    [`node_modules/${name}/index.js`, DECLARATION],
  ]);
  const project = new SmallProject({
    "package.json": JSON.stringify({ name: "program", type: "module" }),
    ...Object.fromEntries(packages),
    "vars.mjs": DECLARATION,
    "main.mjs": PROGRAM,
  });
  try {
    const { stdout } = await project.run("main.mjs");
    const { set, unset, problem } = JSON.parse(stdout) as { set: string[]; unset: string[]; problem: string };
    expect(set).toEqual(["own", "own", "own", "own", "own", "of a", "of a", "of b"]);
    expect(unset).toEqual(unset.map(() => "nobody"));
    expect(problem).toMatch(
      /^InvalidArgument: .*"twice" is declared twice, at \S+main\.mjs:\d+:\d+ and at \S+main\.mjs:\d+:\d+/,
    );
  } finally {
    project.remove();
  }
});
