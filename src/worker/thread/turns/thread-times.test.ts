import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it, vi } from "vitest";
import { ThreadTimes } from "./thread-times.ts";

/** The answers of the system, one text for each look. Undefined: the system has no such file. */
async function timesWith(texts: readonly string[] | undefined): Promise<ThreadTimes> {
  const left = [...(texts ?? [])];
  vi.doMock(import("node:fs"), async (original) => {
    const fs = await original();
    const openSync = (() => {
      if (texts === undefined) throw new Error("ENOENT");
      return 7;
    }) as typeof fs.openSync;
    const readSync = ((_descriptor: number, target: Buffer) =>
      target.write(left.shift() ?? "")) as unknown as typeof fs.readSync;
    return { ...fs, openSync, readSync };
  });
  try {
    vi.resetModules();
    const mocked = await import("./thread-times.ts");
    return new mocked.ThreadTimes();
  } finally {
    vi.doUnmock("node:fs");
  }
}

describe("the cost of a time", () => {
  it("is what the thread was on a core, if it waited for one meanwhile", async () => {
    const times = await timesWith(["5000000 1000000 9\n", "5300000 4000000 12\n"]);
    expect(times.cost(2000)).toBe(300);
  });

  it("is all of it, if the thread was blocked by something else", async () => {
    const times = await timesWith(["5000000 1000000 9\n", "5100000 1000000 12\n"]);
    expect(times.cost(2000)).toBe(2000);
  });

  it("is counted once, and never negative", async () => {
    const times = await timesWith(["1000000 0 1\n", "1200000 900000 2\n", "1200000 999000 2\n"]);
    expect([times.cost(500), times.cost(50)]).toEqual([200, 0]);
  });

  it("is all of it where the system does not tell", async () => {
    expect((await timesWith(undefined)).cost(123)).toBe(123);
  });

  it.skipIf(!existsSync("/proc/thread-self/schedstat"))("is what this system says", async () => {
    const times = new ThreadTimes();
    const end = performance.now() + 20;
    while (performance.now() < end);
    // The system may report recent work only after the thread has slept.
    await delay(1);
    expect(times.cost(0)).toBeGreaterThan(0);
  });
});

describe("a crowded core", () => {
  it("is one that the thread often waits for", async () => {
    const times = await timesWith(["1000 9000 1\n", "2000 9000 2\n", "3000 9900 3\n", "9000 9900 4\n"]);
    const seen = [times.isCrowded];
    for (let looks = 0; looks < 3; looks++) {
      times.cost(1);
      seen.push(times.isCrowded);
    }
    expect(seen).toEqual([false, false, true, false]);
  });

  it("is not known where the system does not tell", async () => {
    const times = await timesWith(undefined);
    times.cost(100);
    expect(times.isCrowded).toBe(false);
  });
});
