import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { getHeapStatistics } from "node:v8";
import { buildSync } from "esbuild";
import { afterAll, afterEach, expect, test } from "vitest";
import { allocateLarge } from "./large-memory.ts";

const MEGABYTE = 1024 * 1024;
const kept: Buffer[] = [];
const directory = mkdtempSync(join(tmpdir(), "wool-large-memory-"));

afterAll(() => rmSync(directory, { recursive: true, force: true }));

afterEach(() => {
  kept.length = 0;
});

function external(): number {
  return getHeapStatistics().external_memory / MEGABYTE;
}

/** How far the memory in use went up and down, in megabytes, while so many pieces were made and dropped. */
function rangeOf(pieces: number): number {
  const seen: number[] = [];
  for (let i = 0; i < pieces; i++) {
    allocateLarge(MEGABYTE)[i] = 1;
    seen.push(external());
  }
  return Math.max(...seen) - Math.min(...seen);
}

/** The first such range that is small, or else the last of many: V8 does what it does at times of its own choice. */
function smallRange(): number {
  let range = rangeOf(60);
  for (let i = 0; i < 80 && range >= 20; i++) range = rangeOf(60);
  return range;
}

test("large pieces that are dropped do not pile up", () => {
  // V8 by itself waits for 32 MB.
  expect(smallRange()).toBeLessThan(20);
});

test("those that are kept stay what they are, and do not stop that for ever", () => {
  for (let i = 0; i < 200; i++) {
    const piece = allocateLarge(MEGABYTE);
    piece.fill(i);
    kept.push(piece);
  }
  expect(kept.every((piece, i) => piece.length === MEGABYTE && piece.every((byte) => byte === i))).toBe(true);
  kept.length = 0;
  expect(smallRange()).toBeLessThan(20);
});

test("the collector is not made a global", () => {
  expect("gc" in globalThis).toBe(false);
});

/** Has a small heap of which a part changes, holds up to 8 large pieces at a time, and prints how often V8 went through it. */
const PROGRAM = `
  import { constants, PerformanceObserver } from "node:perf_hooks";
  import { setTimeout as delay } from "node:timers/promises";
  import { allocateLarge } from "./large-memory.mjs";
  const heap = Array.from({ length: 60_000 }, (_, i) => ({ next: [i] }));
  let whole = 0;
  const count = (list) => {
    whole += list.getEntries().filter((entry) => entry.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR).length;
  };
  new PerformanceObserver(count).observe({ entryTypes: ["gc"] });
  const held = [];
  for (let i = 0; i < 3000; i++) {
    held[i % 8] = allocateLarge(${MEGABYTE});
    for (let k = 0; k < 20; k++) heap[(20 * i + k) % heap.length].next = [i];
    if (i % 8 === 7) await delay(0);
  }
  await delay(20);
  console.log(whole);
`;

function timesThroughHeap(...options: string[]): number {
  const outfile = join(directory, "large-memory.mjs");
  const source = fileURLToPath(new URL("large-memory.ts", import.meta.url));
  buildSync({ entryPoints: [source], outfile, bundle: true, platform: "node", format: "esm" });
  const program = join(directory, "program.mjs");
  writeFileSync(program, PROGRAM);
  return Number(execFileSync(process.execPath, [...options, program], { encoding: "utf8" }));
}

test("V8 does not look through a small heap again and again, unless it was told how to collect", () => {
  const times = timesThroughHeap();
  const timesWhenTuned = timesThroughHeap("--heap_growing_percent=0");
  expect(times).toBeGreaterThan(0);
  expect(timesWhenTuned).toBeGreaterThan(3 * times);
});
