import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "chaos/*.test.mjs"],
    // It installs packages, and has a configuration of its own.
    exclude: ["**/node_modules/**", "test/compatibility/**"],
    pool: "forks",
    // More than there are cores: many tests wait for something most of the time.
    maxWorkers: availableParallelism() + 1,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
