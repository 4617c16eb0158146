import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

test("an object of a package's class may hold a namespace that the file of the class imports", async () => {
  const project = new SmallProject({
    "node_modules/painter/package.json": JSON.stringify({ name: "painter", type: "module", exports: "./index.js" }),
    "node_modules/painter/tools.js": "let used = 0;\nexport const up = (text) => text.toUpperCase() + (used += 1);",
    "node_modules/painter/index.js": `
      import * as tools from "./tools.js";
      export default function Painter() { this.tools = tools; }
      Painter.prototype.paint = function (text) { return this.tools.up(text) + tools.up(text); };`,
    "main.mjs": `
      import { routine, WorkerPool } from "wool-ts";
      import Painter from "painter";
      const painter = new Painter();
      const captured = routine(async (text) => painter.paint(text));
      const passed = routine(async (it, text) => it.paint(text));
      const pool = await WorkerPool.start({ size: 1 });
      console.log(await captured("a"), await passed(new Painter(), "b"));
      await pool.stop();`,
  });
  try {
    const { stdout } = await project.run("main.mjs");
    expect(stdout).toBe("A1A2 B3B4\n");
  } finally {
    project.remove();
  }
});
