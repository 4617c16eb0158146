import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { availableCores } from "./available-cores.ts";

const cores = vi.hoisted(() => ({ count: 8 }));
vi.mock("node:os", async (original) => ({ ...(await original<object>()), availableParallelism: () => cores.count }));

let scratch: string;

beforeEach(() => {
  scratch = mkdtempSync(join(tmpdir(), "wool-cgroup-"));
});
afterEach(() => {
  rmSync(scratch, { recursive: true });
});

function coresWith(self: string, files: Readonly<Record<string, string>>): number {
  for (const [name, text] of Object.entries({ ...files, "../self": self })) {
    const path = join(scratch, "root", name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return availableCores({ self: join(scratch, "self"), root: join(scratch, "root") });
}

describe("availableCores", () => {
  it("counts the cores of the system where there are no groups", () => {
    expect(availableCores({ self: join(scratch, "none"), root: scratch })).toBe(availableParallelism());
  });

  it.each([
    ["a quota", "200000 100000\n", 2],
    ["part of a core more", "250000 100000\n", 2],
    ["less than a core", "50000 100000\n", 1],
    ["more than there are", "1600000 100000\n", 8],
    ["no quota", "max 100000\n", 8],
    ["nonsense", "much\n", 8],
  ])("knows the second version of control groups: %s", (_name, max, expected) => {
    expect(coresWith("0::/\n", { "cpu.max": max })).toBe(expected);
  });

  it("takes the smallest quota of the groups around", () => {
    const files = { "a/b/cpu.max": "600000 100000\n", "a/cpu.max": "300000 100000\n", "cpu.max": "max 100000\n" };
    expect(coresWith("0::/a/b\n", files)).toBe(3);
  });

  it("knows the first version", () => {
    const group = (quota: string, folder = "cpu,cpuacct"): Record<string, string> => ({
      [`${folder}/cpu.cfs_quota_us`]: quota,
      [`${folder}/cpu.cfs_period_us`]: "100000\n",
    });
    const self = "5:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n";
    expect(coresWith(self, group("-1\n"))).toBe(8);
    expect(coresWith(self, group("400000\n"))).toBe(4);
    expect(coresWith("4:cpu:/docker/x\n", group("300000\n", "cpu/docker/x"))).toBe(3);
  });
});
