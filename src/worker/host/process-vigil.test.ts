import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProcessVigil } from "./process-vigil.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("asks again and again, and tells when there is no answer for 30 seconds", () => {
  const [ask, silent] = [vi.fn(), vi.fn()];
  const vigil = new ProcessVigil(ask, silent);
  vi.advanceTimersByTime(29_999);
  expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([6, 0]);
  vi.advanceTimersByTime(1);
  expect(silent).toHaveBeenCalledTimes(1);
  vigil.close();
});

test("is content with an answer now and then", () => {
  const silent = vi.fn();
  const vigil = new ProcessVigil(() => undefined, silent);
  for (let i = 0; i < 100; i++) {
    vi.advanceTimersByTime(29_000);
    vigil.heard();
  }
  expect(silent).not.toHaveBeenCalled();
  vigil.close();
  vi.advanceTimersByTime(100_000);
  expect(silent).not.toHaveBeenCalled();
});
