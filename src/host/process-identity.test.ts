import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  areProcessesAlive,
  currentProcess,
  identifyProcess,
  isProcessAlive,
  isProcessIdentity,
} from "./process-identity.ts";

const PATIENCE = { timeout: 20_000, interval: 5 };

const isLinux = process.platform === "linux";
const children: ChildProcess[] = [];

afterEach(async () => {
  for (const child of children.splice(0)) await end(child);
});

async function start(command: string, ...args: string[]): Promise<{ child: ChildProcess; pid: number }> {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "ignore"] });
  children.push(child);
  await once(child, "spawn");
  if (child.pid === undefined) throw new Error("no pid");
  return { child, pid: child.pid };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

describe("isProcessAlive", () => {
  it("holds for a process until it ends", async () => {
    const { child, pid } = await start("sleep", "1000");
    const identity = identifyProcess(pid);
    if (identity === undefined) throw new Error("not identified");
    expect(isProcessAlive(identity)).toBe(true);
    await end(child);
    expect(isProcessAlive(identity)).toBe(false);
    expect(identifyProcess(pid)).toBeUndefined();
  });

  it("does not take another process with the same pid for it", () => {
    const identity = currentProcess();
    expect(isProcessAlive(identity)).toBe(true);
    expect(isProcessAlive({ ...identity, startTime: "1" })).toBe(false);
  });

  it("answers for many at once, in order", async () => {
    const { pid } = await start("sleep", "1000");
    const other = identifyProcess(pid);
    if (other === undefined) throw new Error("not identified");
    const own = currentProcess();
    const reused = { ...other, startTime: "1" };
    expect(areProcessesAlive([own, reused, other, { pid: -1, startTime: "" }, own])).toEqual([
      true,
      false,
      true,
      false,
      true,
    ]);
    expect(areProcessesAlive([])).toEqual([]);
  });

  it.runIf(isLinux)("does not count a zombie", async () => {
    // After exec the parent does not collect its child.
    const parent = await start("sh", "-c", "sleep 1000 & echo $!; exec sleep 1001");
    const pid = Number(await firstLine(parent.child));
    await vi.waitFor(() => expect(readFileSync(`/proc/${parent.pid}/comm`, "utf8")).toBe("sleep\n"), PATIENCE);
    process.kill(pid, "SIGKILL");
    await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/stat`, "latin1")).toMatch(/\) Z /), PATIENCE);
    expect(isProcessAlive({ pid, startTime: "" })).toBe(false);
    expect(identifyProcess(pid)).toBeUndefined();
  });

  it.runIf(isLinux)("knows that pids of another container or boot mean something else here", () => {
    const { pidSpace = "", ...identity } = currentProcess();
    const [boot] = pidSpace.split("/");
    expect(isProcessAlive({ ...identity, pid: 2 ** 22 + 1, pidSpace: `${boot}/pid:[1]` })).toBe(true);
    expect(isProcessAlive({ ...identity, pidSpace: "another-boot/pid:[1]" })).toBe(false);
  });
});

describe("the start time", () => {
  it.runIf(isLinux)("is not misled by the name of the program", async () => {
    const folder = mkdtempSync(join(tmpdir(), "wool-test-"));
    try {
      const name = join(folder, "x) R 1 (y");
      symlinkSync("/bin/sleep", name);
      const { pid } = await start(name, "1000");
      const plain = await start("sleep", "1000");
      await vi.waitFor(() => expect(readFileSync(`/proc/${pid}/comm`, "utf8")).toBe("x) R 1 (y\n"), PATIENCE);
      const startTime = Number(identifyProcess(pid)?.startTime);
      expect(startTime).toBeGreaterThanOrEqual(Number(identifyProcess(process.pid)?.startTime));
      expect(startTime).toBeLessThanOrEqual(Number(identifyProcess(plain.pid)?.startTime));
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 22 + 1])("is undefined for the pid %d", (pid) => {
    expect(identifyProcess(pid)).toBeUndefined();
  });
});

describe("isProcessIdentity", () => {
  it("takes what was written and nothing else", () => {
    expect(isProcessIdentity(JSON.parse(JSON.stringify(currentProcess())))).toBe(true);
    for (const value of [
      null,
      1,
      {},
      { pid: 1 },
      { pid: "1", startTime: "" },
      { pid: 1, startTime: "", pidSpace: 1 },
    ]) {
      expect(isProcessIdentity(value)).toBe(false);
    }
  });
});

async function firstLine(child: ChildProcess): Promise<string> {
  for await (const chunk of child.stdout ?? []) return String(chunk).trim();
  throw new Error("nothing was printed");
}
