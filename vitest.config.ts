import { readdirSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const unitTests = readdirSync(new URL("src", import.meta.url), { recursive: true, encoding: "utf8" })
  .filter((path) => path.endsWith(".test.ts"))
  .map((path) => `src/${path}`);
const replacesModules = (path: string): boolean =>
  readFileSync(new URL(path, import.meta.url), "utf8").includes("vi.mock(");

/** Tests that replace modules, or that need a process in which no pool was ever started. */
const ALONE = [
  ...unitTests.filter(replacesModules),
  "src/routine/target-routine.test.ts",
  "test/integration/calls/outside-of-pools.test.ts",
];
/** Programs that are started as users start them, which takes most of the time of these tests. */
const PROGRAMS = ["src/functions/programs.test.ts", "test/programs/*.test.ts"];
/** Worker processes that start, crash, freeze and stop: each test has its own. */
const LIFECYCLE = ["test/lifecycle/*.test.ts"];
/** Servers, peers in other languages, and machines of their own. */
const NETWORK = ["test/network/*.test.ts", "test/interop/python.test.ts"];

/** Files that share processes: to start one for each of them takes as long as the unit tests themselves. */
const project = (name: string, include: string[], exclude: string[] = []) => ({
  extends: true as const,
  test: { name, include, exclude, isolate: false, setupFiles: ["test/support/tidy-up.ts"] },
});

// The tests of compatibility install packages, and have a configuration of their own.
export default defineConfig({
  test: {
    pool: "forks",
    // More than there are cores: many tests wait for something most of the time.
    maxWorkers: 2 * availableParallelism(),
    // Programs in folders that are used once would leave compiled code in this one.
    env: { NODE_DISABLE_COMPILE_CACHE: "1" },
    // None takes as long by itself; a busy machine can take ten times as long.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    projects: [
      project("unit", ["src/**/*.test.ts", "chaos/*.test.mjs"], [...ALONE, ...PROGRAMS]),
      project("integration", ["test/{integration/*,interop,project}/*.test.ts"], [...ALONE, ...NETWORK]),
      { extends: true, test: { name: "alone", include: ALONE } },
      project("lifecycle", LIFECYCLE),
      project("programs", PROGRAMS),
      project("network", NETWORK),
    ],
  },
});
