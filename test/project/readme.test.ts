import { expect, it } from "vitest";
import { announced, programsOf, runPageProgram } from "../support/page-programs.ts";

const programs = programsOf("README.md");

it("has programs to run", () => expect(programs.length).toBeGreaterThanOrEqual(6));

it.each(programs.map((code, i) => [i + 1, code] as const))(
  "program %i of the README does what it says",
  async (_i, code) => {
    expect(await runPageProgram(code)).toEqual({ lines: announced(code), exit: 0 });
  },
);
