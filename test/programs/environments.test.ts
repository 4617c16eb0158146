import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { isRunning } from "../support/processes.ts";
import { fixture, startProgram } from "../support/run-program.ts";
import { makeRuntimeFolder } from "../support/runtime-folder.ts";
import { until } from "../support/until.ts";

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
  program = "quick-start.mjs",
): { status: number | null; stdout: string; stderr: string } {
  const [command = "sh", ...args] = shell;
  const script = `${before} exec "${process.execPath}" "${fixture(program)}"`;
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
    // Loaded one file after the other: ES modules are opened all at once.
    const { status, stderr } = run("ulimit -n 24;", {}, ["sh"], "quick-start.cjs");
    expect(status).toBe(1);
    expect(stderr).toMatch(/WorkerStartError: .*(?:EMFILE|too many open files)/s);
    expect(stderr).not.toMatch(/Unhandled|TypeError/);
  });
});

describe("the permission model of Node.js", () => {
  const flag = process.allowedNodeEnvironmentFlags.has("--permission") ? "--permission" : "--experimental-permission";
  const start = (allowed: string): string => {
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--no-warnings", flag, "--allow-fs-read=*", ...allowed.split(" "), fixture("quick-start.cjs")],
      { encoding: "utf8", timeout: 25_000 },
    );
    expect(status).toBe(1);
    return stderr;
  };

  it("that forbids processes is a WorkerStartError", () => {
    expect(start("--allow-fs-write=*")).toMatch(
      /WorkerStartError: a worker process cannot be started: the permission model .* with --allow-child-process too/,
    );
  });

  it("that forbids files is named with what to allow", () => {
    expect(start("--allow-child-process")).toMatch(
      /WoolError: the runtime directory (\S+) cannot be created: the permission model .* with --allow-fs-read=\1 and --allow-fs-write=\1, too\./,
    );
  });
});

describe("a program that has replaced globals", () => {
  it("makes calls", () => {
    const { status, stdout, stderr } = run("", {}, ["sh"], "replaced-globals.mjs");
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout).toBe("true everything\n");
  });
});

describe("a file system that is read-only", () => {
  it.runIf(canMount)("is named with what to set", () => {
    const { status, stderr } = run("mount -o remount,bind,ro / &&", {}, NAMESPACE);
    expect(status).toBe(1);
    expect(stderr).toMatch(/WoolError: the runtime directory \S+ cannot be written to: its file system is read-only/);
    expect(stderr).toContain("Set XDG_RUNTIME_DIR");
  });

  it.runIf(canMount)("serves where XDG_RUNTIME_DIR can be written to", () => {
    const before = `mount -t tmpfs -o mode=0700 tmpfs "${scratch}" && mount -o remount,bind,ro / &&`;
    const { status, stderr } = run(before, { XDG_RUNTIME_DIR: scratch }, NAMESPACE);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  });
});

describe("a pool in a thread that is terminated", () => {
  it("takes its worker processes with it, while the program goes on", async () => {
    using folder = makeRuntimeFolder();
    const program = startProgram("lifecycle/pool-in-thread.mjs", { env: folder.env });
    try {
      await until(() => program.stdout.includes("\n") || program.end !== undefined, "the thread has ended");
      const pids = JSON.parse(program.stdout) as number[];
      expect(pids).toHaveLength(2);
      await until(() => !pids.some(isRunning), "the workers have ended");
      await until(() => folder.leftovers().length === 0, "nothing is left on disk");
      expect(program.child.exitCode).toBe(null);
    } finally {
      program.child.kill("SIGKILL");
      await program.ended;
    }
  });
});
