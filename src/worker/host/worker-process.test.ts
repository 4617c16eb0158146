import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ProcessWatchdog } from "./worker-process.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("asks again and again, and tells when there is no answer for 30 seconds", () => {
  const [ask, silent] = [vi.fn(), vi.fn()];
  const watchdog = new ProcessWatchdog(ask, silent);
  vi.advanceTimersByTime(29_999);
  expect([ask.mock.calls.length, silent.mock.calls.length]).toEqual([6, 0]);
  vi.advanceTimersByTime(1);
  expect(silent).toHaveBeenCalledTimes(1);
  watchdog.close();
});

test("is content with an answer now and then", () => {
  const silent = vi.fn();
  const watchdog = new ProcessWatchdog(() => undefined, silent);
  for (let i = 0; i < 100; i++) {
    vi.advanceTimersByTime(29_000);
    watchdog.heard();
  }
  expect(silent).not.toHaveBeenCalled();
  watchdog.close();
  vi.advanceTimersByTime(100_000);
  expect(silent).not.toHaveBeenCalled();
});
