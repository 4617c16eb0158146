import { describe, expect, it } from "vitest";
import { announced, programsOf, runPageProgram, typeErrorsOf } from "../support/page-programs.ts";

const pages = [
  ["README.md", 6],
  ["docs/code-travels.md", 4],
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
