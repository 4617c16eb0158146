import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/compatibility/**/*.test.ts"],
    globalSetup: "test/compatibility/install.ts",
    pool: "forks",
    // Each test is a program with a worker.
    maxWorkers: 2,
    maxConcurrency: 2,
    testTimeout: 120_000,
    hookTimeout: 600_000,
  },
});
