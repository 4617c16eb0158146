import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, expect, it, vi } from "vitest";
import { RoutineSpec } from "./routine-spec.ts";

afterEach(() => vi.restoreAllMocks());

function warningsOf(fn: () => unknown): unknown[] {
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  const spec = new RoutineSpec(fn, { name: "resize" }, false);
  spec.route();
  spec.route();
  return emit.mock.calls.map(([message, options]) => [message, options]);
}

it("warns once of megabytes, with the name of the variable", () => {
  const small = [1];
  const table = "x".repeat(2_000_000);
  const [warning, ...more] = warningsOf(() => [small, table]);
  expect(warning).toEqual([
    expect.stringMatching(/"resize" captures "table": 2,00\d KB\..*perWorker.*share\(\).*a separate module/s),
    { type: "WoolWarning", code: "WOOL_LARGE_CAPTURE" },
  ]);
  expect(more).toEqual([]);
});

it("warns of hundreds of functions", () => {
  const steps = Array.from({ length: 320 }, (_, index) => () => index);
  const [warning] = warningsOf(() => steps);
  expect(warning).toEqual([expect.stringMatching(/"resize" captures "steps": 32\d functions/), expect.anything()]);
});

it("says nothing of what is usual", () => {
  const steps = Array.from({ length: 20 }, (_, index) => () => index);
  expect(warningsOf(() => steps)).toEqual([]);
});

it("refuses to take a package apart", async () => {
  const directory = mkdtempSync(join(tmpdir(), "wool-large-"));
  try {
    const home = join(directory, "node_modules", "many");
    mkdirSync(home, { recursive: true });
    writeFileSync(join(home, "package.json"), '{ "name": "many", "type": "module", "exports": "./index.js" }');
    writeFileSync(
      join(home, "index.js"),
      "export const make = () => Array.from({ length: 1300 }, (_, index) => () => index);",
    );
    const { make } = await import(pathToFileURL(join(home, "index.js")).href);
    const steps: unknown = make();
    expect(() => new RoutineSpec(() => steps, { name: "resize" }, false).route()).toThrow(
      /^resize -> steps -> .*of the package "many" is one of many functions.*perWorker\(\(\) => \.\.\.\)/s,
    );
  } finally {
    rmSync(directory, { recursive: true });
  }
});

it("warns once of a function that calls itself instead of its routine", () => {
  const fn = async function crawl(depth: number): Promise<number> {
    return depth === 0 ? 0 : crawl(depth - 1);
  };
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  for (const name of ["one", "two"]) new RoutineSpec(fn, { name }, false).route();
  expect(emit.mock.calls).toEqual([
    [
      expect.stringMatching(/the inner "crawl" is the function.*const crawl = routine\(async \(\) => /s),
      { type: "WoolWarning", code: "WOOL_NAMED_RECURSION" },
    ],
  ]);
});

it("says nothing of a function that calls others, or is named by its variable", () => {
  const crawl = async (depth: number): Promise<number> => (depth === 0 ? 0 : crawl(depth - 1));
  const other = async function named(): Promise<unknown> {
    return [named.name, crawl(0)];
  };
  const emit = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
  for (const fn of [crawl, other]) new RoutineSpec(fn, {}, false).route();
  expect(emit).not.toHaveBeenCalled();
});
