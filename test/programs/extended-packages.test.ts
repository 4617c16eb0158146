import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

/** As mongoose does with the ids of mongodb: it adds a member to a class of another package, and exports the class again. */
test("a class that another package extends and exports again is one class on the worker", async () => {
  const project = new SmallProject({
    "node_modules/ids/package.json": JSON.stringify({ name: "ids", main: "index.js" }),
    "node_modules/ids/index.js": `
      class Id {
        constructor(text) { this.text = text; }
        short() { return this.text.slice(0, 2); }
      }
      exports.Id = Id;`,
    "node_modules/models/package.json": JSON.stringify({ name: "models", main: "index.js" }),
    "node_modules/models/index.js": `
      const { Id } = require("ids");
      Object.defineProperty(Id.prototype, "self", { get() { return this; } });
      exports.Types = { Id };`,
    "main.mjs": `
      import { routine, WorkerPool } from "wool-ts";
      import { Id } from "ids";
      import models from "models";
      const id = new models.Types.Id("abc");
      const alone = routine(async (it) => [it instanceof Id, it.short(), it.self === it]);
      const both = routine(async (it) => [it instanceof Id, it instanceof models.Types.Id, Id === models.Types.Id]);
      const pool = await WorkerPool.start({ size: 1 });
      const made = await routine(async () => new Id("xyz"))();
      console.log(JSON.stringify([await alone(id), await both(id), made instanceof models.Types.Id, made.self === made]));
      await pool.stop();`,
  });
  try {
    const { stdout, stderr } = await project.run("main.mjs");
    expect(stdout, stderr).toBe('[[true,"ab",true],[true,true,true],true,true]\n');
  } finally {
    project.remove();
  }
});
