import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CLI } from "../support/cli.ts";
import { Network } from "../support/hosts.ts";
import { missingFor } from "../support/servers.ts";
import { until } from "../support/until.ts";

const missing = missingFor("network namespaces");
const root = fileURLToPath(new URL("../..", import.meta.url));

/** A project in TypeScript, with a package that only it has. */
const PROJECT = {
  "package.json": JSON.stringify({ type: "module" }),
  "node_modules/tiny/package.json": JSON.stringify({ name: "tiny", version: "1.0.0", type: "module", main: "tiny.js" }),
  "node_modules/tiny/tiny.js": "export const double = (x) => 2 * x;",
  "shape.ts": `
    import { double } from "tiny";
    export enum Unit { Metre = "m" }
    export class Square {
      readonly side: number;
      constructor(side: number) { this.side = side; }
      area(): string { return this.side ** 2 + Unit.Metre; }
      larger(): Square { return new Square(double(this.side)); }
    }`,
  "main.ts": `
    import { existsSync } from "node:fs";
    import { routine, WorkerPool } from "wool-ts";
    import { Square } from "./shape.ts";
    const folder: string = import.meta.dirname;
    const measure = routine(async (square: Square) => ({
      area: square.larger().area(),
      larger: square.larger(),
      folders: [process.cwd(), existsSync(folder + "/shape.ts")],
    }));
    const outer = routine(async (side: number) => await measure(new Square(side)));
    const pool = await WorkerPool.start({ discovery: "lan:empty" });
    const direct = await measure(new Square(3));
    const nested = await outer(4);
    console.log(JSON.stringify([direct, nested, direct.larger instanceof Square]));
    await pool.stop();`,
};

describe.skipIf(missing !== undefined)("wool worker on a host that has nothing of the caller's project", () => {
  let project: string;
  let empty: string;
  beforeEach(() => {
    [project, empty] = ["project", "empty"].map((name) => mkdtempSync(join(tmpdir(), `wool-${name}-`))) as [
      string,
      string,
    ];
    mkdirSync(join(project, "node_modules/tiny"), { recursive: true });
    for (const [name, text] of Object.entries(PROJECT)) writeFileSync(join(project, name), text);
    symlinkSync(root, join(project, "node_modules/wool-ts"));
  });
  afterEach(() => {
    for (const folder of [project, empty]) rmSync(folder, { recursive: true, force: true });
  });

  test("runs its TypeScript, with classes of its own and functions of its packages", async () => {
    await using network = new Network({ hosts: [["a"], ["a"]] });
    const [one, two] = network.hosts;
    // The folder of the project is an empty one there.
    const command = `mount -t tmpfs none ${project}; exec "$0" "$@"`;
    const args = ["worker", "--discovery", "lan:empty", "--host", "0.0.0.0"];
    const worker = two?.spawn("unshare", ["-m", "sh", "-c", command, process.execPath, CLI, ...args], { cwd: empty });
    let log = "";
    worker?.stdout?.setEncoding("utf8").on("data", (text: string) => (log += text));
    await until(() => log.includes('"ready"'), "the worker is ready");
    const caller = one?.spawn(process.execPath, ["--import", import.meta.resolve("tsx"), "main.ts"], { cwd: project });
    let output = "";
    for (const stream of [caller?.stdout, caller?.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => (output += text));
    }
    await new Promise((resolve) => caller?.on("close", resolve));
    const found = (side: number) => ({
      area: `${(2 * side) ** 2}m`,
      larger: { side: 2 * side },
      folders: [empty, false],
    });
    expect(output).toBe(`${JSON.stringify([found(3), found(4), true])}\n`);
  }, 60_000);
});
