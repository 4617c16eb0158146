import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

/** A package in one file that takes seconds to parse, as typescript and sass are, with a class that it does not export. */
const LARGE = `
  class Node { constructor(text) { this.text = text; } size() { return this.text.length; } }
  exports.parse = (text) => new Node(text);
  // ${"x".repeat(3_100_000)}`;

test("what a package keeps to itself in a very large file is refused, and what it exports is not", async () => {
  const project = new SmallProject({
    "node_modules/large/package.json": JSON.stringify({ name: "large", main: "index.js" }),
    "node_modules/large/index.js": LARGE,
    "main.mjs": `
      import { routine, shipping, WorkerPool } from "wool-ts";
      import { parse } from "large";
      const tree = parse("abc");
      const pool = await WorkerPool.start({ size: 1 });
      const seen = [await routine(async (text) => parse(text).size())("abcd")];
      seen.push(await routine(async () => tree.size())().catch((error) => [error.name, error.message]));
      shipping.byValue("large");
      seen.push(await routine(async (it) => it.size())(tree));
      console.log(JSON.stringify(seen));
      await pool.stop();`,
  });
  try {
    const { stdout, stderr } = await project.run("main.mjs");
    expect(JSON.parse(stdout), stderr).toEqual([
      4,
      [
        "SerializationError",
        expect.stringMatching(
          /tree: "Node" of the package "large" is in a file of 3\.1 MB.*perWorker\(\(\) => parse\("abc"\)\)/,
        ),
      ],
      3,
    ]);
  } finally {
    project.remove();
  }
});
