import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "chaos/*.test.mjs"],
    // It installs packages, and has a configuration of its own.
    exclude: ["**/node_modules/**", "test/compatibility/**"],
    pool: "forks",
    // Two also where there are two cores: many tests wait for something most of the time.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
