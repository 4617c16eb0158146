import { afterAll, expect, it } from "vitest";
import { announced, DocumentedPrograms } from "../support/documented-programs.ts";

const page = new DocumentedPrograms("docs/workers.md");

afterAll(() => page[Symbol.dispose]());

it("has programs to run", () => expect(page.programs.length).toBeGreaterThanOrEqual(3));

it.each(page.programs.map((code, i) => [i + 1, code] as const))(
  "program %i of the page on workers does what it says",
  async (_i, code) => {
    expect(await page.run(code)).toEqual({ lines: announced(code), code: 0 });
  },
);
