import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { until } from "../support/until.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const page = readFileSync(join(root, "docs", "security.md"), "utf8");
const [callers, workers] = [`wool-c${process.pid}`, `wool-w${process.pid}`];
const ip = (...args: string[]): number | null => spawnSync("ip", args).status;
const canLink = process.geteuid?.() === 0 && ip("netns", "list") === 0;
if (!canLink) console.warn("The page about security is not followed: this user cannot make network namespaces.");

/** The program of the page that begins with its name. */
function program(name: string): string {
  return new RegExp(`\`\`\`js\\n// ${name}\\n([\\s\\S]*?)\`\`\``).exec(page)?.[1] ?? "";
}

function makeMachine(folder: string): string {
  mkdirSync(join(folder, "certs"), { recursive: true });
  mkdirSync(join(folder, "node_modules"));
  symlinkSync(root, join(folder, "node_modules", "wool-ts"));
  return folder;
}

describe.skipIf(!canLink)("the page about security", () => {
  let folder: string;
  let worker: ChildProcess | undefined;

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "wool-page-"));
    for (const name of [callers, workers]) ip("netns", "add", name);
    ip("link", "add", "wc", "netns", callers, "type", "veth", "peer", "name", "ww", "netns", workers);
    for (const [name, link, address] of [
      [callers, "wc", "10.77.0.1/24"],
      [workers, "ww", "10.77.0.2/24"],
    ] as const) {
      ip("-n", name, "address", "add", address, "dev", link);
      ip("-n", name, "link", "set", link, "up");
      ip("-n", name, "link", "set", "lo", "up");
    }
  });
  afterAll(async () => {
    if (worker !== undefined && worker.exitCode === null) {
      worker.kill();
      await once(worker, "exit");
    }
    for (const name of [callers, workers]) ip("netns", "delete", name);
    rmSync(folder, { recursive: true });
  });

  test("leads to a pool with mutual TLS between two machines", async () => {
    const ours = makeMachine(join(folder, "callers"));
    const theirs = makeMachine(join(folder, "worker"));
    const commands = [...page.matchAll(/^\$ npx wool (.*)$/gm)].map(([, line = ""]) => line.split(" "));
    expect(commands.length).toBeGreaterThanOrEqual(3);
    for (const args of commands) {
      const { status, stderr } = spawnSync(process.execPath, [join(root, "dist", "cli.js"), ...args], { cwd: ours });
      expect([status, String(stderr)]).toEqual([0, ""]);
    }
    const copied = /Copy (.*) to a folder/.exec(page)?.[1]?.match(/certs\/[\w.]+/g) ?? [];
    expect(copied).toEqual(["certs/ca.pem", "certs/worker.pem", "certs/worker.key"]);
    for (const file of copied) copyFileSync(join(ours, file), join(theirs, file));
    writeFileSync(join(theirs, "worker.mjs"), program("worker.mjs"));
    writeFileSync(join(ours, "caller.mjs"), program("caller.mjs"));

    const inside = (name: string, file: string): string[] => ["netns", "exec", name, process.execPath, file];
    worker = spawn("ip", inside(workers, "worker.mjs"), { cwd: theirs });
    let printed = "";
    for (const stream of [worker.stdout, worker.stderr])
      stream?.on("data", (chunk: Buffer) => (printed += String(chunk)));
    await until(() => printed.includes("\n"), "the worker has started");
    expect(printed).toBe("listening on 10.77.0.2:7777\n");
    const { stdout, stderr } = spawnSync("ip", inside(callers, "caller.mjs"), { cwd: ours });
    expect([String(stdout), String(stderr)]).toEqual(["42\n", ""]);
  });
});
