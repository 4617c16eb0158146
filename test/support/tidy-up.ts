import { afterAll, vi } from "vitest";

// Files share processes, so each leaves its process as it has found it.
afterAll(() => {
  vi.useRealTimers();
  vi.unstubAllEnvs();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});
