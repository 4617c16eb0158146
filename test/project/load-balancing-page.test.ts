import { expect, it } from "vitest";
import { announced, programsOf, runPageProgram, typeErrorsOf } from "../support/page-programs.ts";

const programs = programsOf("docs/load-balancing.md");

it("has a program for each kind of balancer", () => {
  expect(programs.filter((code) => code.includes("implements LoadBalancerLike"))).toHaveLength(1);
  expect(programs.filter((code) => code.includes("implements DispatchingLoadBalancerLike"))).toHaveLength(1);
  for (const code of programs) expect(announced(code)).not.toEqual([]);
});

it("has programs that compile", async () => expect(await typeErrorsOf(programs)).toBe(""));

it.each(programs.map((code, i) => [i + 1, code] as const))("program %i does what it says", async (_i, code) => {
  expect(await runPageProgram(code)).toEqual({ lines: announced(code), exit: 0 });
});
