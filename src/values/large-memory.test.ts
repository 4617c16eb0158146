import { getHeapStatistics } from "node:v8";
import { afterEach, expect, test } from "vitest";
import { allocateLarge } from "./large-memory.ts";

const MEGABYTE = 1024 * 1024;
const kept: Buffer[] = [];

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

/** The smallest such range of several, since V8 does what it does at times of its own choice. */
function smallestRange(): number {
  return Math.min(...Array.from({ length: 8 }, () => rangeOf(60)));
}

test("large pieces that are dropped do not pile up", () => {
  // V8 by itself waits for 32 MB.
  expect(smallestRange()).toBeLessThan(20);
});

test("those that are kept stay what they are, and do not stop that for ever", () => {
  for (let i = 0; i < 200; i++) {
    const piece = allocateLarge(MEGABYTE);
    piece.fill(i);
    kept.push(piece);
  }
  expect(kept.every((piece, i) => piece.length === MEGABYTE && piece.every((byte) => byte === i))).toBe(true);
  kept.length = 0;
  expect(smallestRange()).toBeLessThan(20);
});

test("the collector is not made a global", () => {
  expect("gc" in globalThis).toBe(false);
});
