import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "chaos/*.test.mjs"],
    pool: "forks",
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
