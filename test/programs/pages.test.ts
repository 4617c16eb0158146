import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import * as wool from "wool-ts";
import { announced, programsOf, runPageProgram, typeErrorsOf } from "../support/page-programs.ts";

const pages = [
  ["README.md", 6],
  ["docs/code-travels.md", 5],
  ["docs/load-balancing.md", 2],
  ["docs/workers.md", 3],
] as const;

describe.each(pages)("%s", (page, least) => {
  const programs = programsOf(page);

  it("has programs, which all tell something", () => {
    expect(programs.length).toBeGreaterThanOrEqual(least);
    for (const code of programs) expect(announced(code)).not.toEqual([]);
  });

  it("has programs that compile", async () => expect(await typeErrorsOf(programs)).toBe(""));

  it.each(programs.map((code, i) => [i + 1, code] as const))("program %i does what it says", async (_i, code) => {
    expect(await runPageProgram(code)).toEqual({ lines: announced(code), exit: 0 });
  });
});

it("docs/load-balancing.md has a program for each kind of balancer", () => {
  const programs = programsOf("docs/load-balancing.md");
  expect(programs.filter((code) => code.includes("implements LoadBalancerLike"))).toHaveLength(1);
  expect(programs.filter((code) => code.includes("implements DispatchingLoadBalancerLike"))).toHaveLength(1);
});

const root = fileURLToPath(new URL("../..", import.meta.url));

describe("docs/errors.md", () => {
  const rows = readFileSync(join(root, "docs/errors.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| `"))
    .map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );

  it("has a row for every error, with its code", () => {
    const isError = (value: unknown): boolean =>
      typeof value === "function" && (value === wool.WoolError || value.prototype instanceof wool.WoolError);
    const errors = Object.entries(wool).flatMap(([name, value]) => (isError(value) ? [name] : []));
    expect(rows.map(([name]) => name?.replaceAll("`", "")).sort()).toEqual(errors.sort());
    const codes = rows.map(([, code]) => code);
    const sources = readFileSync(join(root, "src/errors.ts"), "utf8");
    expect(codes.filter((code) => !sources.includes(`"${code?.replaceAll("`", "")}"`))).toEqual([]);
    expect(new Set(codes).size).toBe(errors.length);
  });

  it("leaves no cell empty", () => {
    expect(rows.filter((cells) => cells.length !== 4 || cells.some((cell) => cell === ""))).toEqual([]);
  });
});
