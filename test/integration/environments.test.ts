import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { fixture } from "../support/run-program.ts";

/** Programs in places that are short of something. */

let scratch: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-places-"));
});
afterEach(() => {
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs the quick start after commands of a shell; in a namespace of its own if wanted. */
function run(
  before: string,
  env: Readonly<Record<string, string | undefined>>,
  shell: readonly string[] = ["sh"],
): { status: number | null; stdout: string; stderr: string } {
  const [command = "sh", ...args] = shell;
  const script = `${before} exec "${process.execPath}" "${fixture("quick-start.mjs")}"`;
  const environment = { ...process.env, XDG_RUNTIME_DIR: undefined, ...env };
  return spawnSync(command, [...args, "-c", script], { encoding: "utf8", env: environment, timeout: 25_000 });
}

const NAMESPACE = ["unshare", "--mount", "sh"];
const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

describe("a temporary directory whose path is too long for sockets", () => {
  it("is passed over", () => {
    const long = join(scratch, "x".repeat(80));
    mkdirSync(long);
    const { status, stdout, stderr } = run("", { TMPDIR: long, HOME: scratch });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toContain("true");
  });

  it("fails at once when there is no other place, and says what to set", () => {
    const long = join(scratch, "x".repeat(80));
    mkdirSync(long);
    const { status, stderr } = run("", { TMPDIR: long, HOME: "/proc/nobody" });
    expect(status).toBe(1);
    expect(stderr).toMatch(/WoolError: .* its path is too long for sockets/);
    expect(stderr).toContain("Set XDG_RUNTIME_DIR to a directory with a shorter path");
  });
});

describe("a process with few descriptors", () => {
  it("gets a WorkerStartError", () => {
    const { status, stderr } = run("ulimit -n 24;", {});
    expect(status).toBe(1);
    expect(stderr).toMatch(/WorkerStartError: .*(?:EMFILE|too many open files)/s);
    expect(stderr).not.toMatch(/Unhandled|TypeError/);
  });
});

describe("a file system that is read-only", () => {
  it.runIf(canMount)("is named with what to set", () => {
    const { status, stderr } = run("mount -o remount,bind,ro / &&", {}, NAMESPACE);
    expect(status).toBe(1);
    expect(stderr).toMatch(/WoolError: The runtime directory \S+ cannot be written to: its file system is read-only/);
    expect(stderr).toContain("Set XDG_RUNTIME_DIR");
  });

  it.runIf(canMount)("serves where XDG_RUNTIME_DIR can be written to", () => {
    const before = `mount -t tmpfs -o mode=0700 tmpfs "${scratch}" && mount -o remount,bind,ro / &&`;
    const { status, stderr } = run(before, { XDG_RUNTIME_DIR: scratch }, NAMESPACE);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});
