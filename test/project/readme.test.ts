import { afterAll, expect, it } from "vitest";
import { announced, DocumentedPrograms } from "../support/documented-programs.ts";

const readme = new DocumentedPrograms("README.md");

afterAll(() => readme[Symbol.dispose]());

it("has programs to run", () => expect(readme.programs.length).toBeGreaterThanOrEqual(6));

it.each(readme.programs.map((code, i) => [i + 1, code] as const))(
  "program %i of the README does what it says",
  async (_i, code) => {
    expect(await readme.run(code)).toEqual({ lines: announced(code), code: 0 });
  },
);
