import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, describe, expect, it, vi } from "vitest";
import { readSurveyed, type SurveyedScript } from "./script-survey.ts";

const greeter = fileURLToPath(new URL("../fixtures/modules/greeter.mjs", import.meta.url));
const text = readFileSync(greeter, "utf8");
const from = text.indexOf("function whereEvaluated");
const to = text.indexOf("}", from) + 1;
const directory = mkdtempSync(join(tmpdir(), "survey-"));
afterAll(() => rmSync(directory, { recursive: true }));

function surveyed(path: string, ...functions: [name: string, start: number, end: number][]): SurveyedScript {
  return {
    id: "1",
    url: pathToFileURL(path).href,
    functions: functions.map(([name, start, end]) => ({ name, start, end })),
  };
}

/** A file that seems older than this process. */
function file(name: string, source: string): string {
  const path = join(directory, name);
  writeFileSync(path, source);
  utimesSync(path, new Date(0), new Date(0));
  return path;
}

describe("the source of a script is taken from its file", () => {
  it("when V8 has its functions where the file has them", () => {
    const found = readSurveyed(surveyed(greeter, ["whereEvaluated", from, to]));
    expect(found).toMatchObject({ id: "1", isModule: true, sourceMapUrl: "" });
    expect(found?.source?.slice(from, to)).toMatch(/^function whereEvaluated\(\)[^]*\}$/);
  });

  it.each<[string, SurveyedScript]>([
    ["when a function is elsewhere", surveyed(greeter, ["whereEvaluated", from + 1, to + 1])],
    ["when the script is longer than the file", surveyed(greeter, ["", 0, 100_000])],
    ["when there is no file", surveyed(join(directory, "gone.mjs"))],
    ["when it is not JavaScript", surveyed(fileURLToPath(import.meta.url))],
    ["when it has no url", { id: "1", url: "", functions: [] }],
  ])("but not %s", (_when, script) => {
    expect(readSurveyed(script)).toBeUndefined();
  });

  it("but not when it was changed since the process began", () => {
    const path = file("changed.mjs", "export const a = () => 1;\n");
    expect(readSurveyed(surveyed(path, ["a", 17, 24]))).toBeUndefined();
    const origin = vi.spyOn(performance, "timeOrigin", "get").mockReturnValue(Date.now() + 60_000);
    expect(readSurveyed(surveyed(path, ["a", 17, 24]))).toBeDefined();
    origin.mockRestore();
  });

  it("but not when it names another source, or may not be what Node took it for", () => {
    const origin = vi.spyOn(performance, "timeOrigin", "get").mockReturnValue(Date.now() + 60_000);
    expect(readSurveyed(surveyed(file("a.mjs", "1;\n//# sourceURL=b.mjs\n")))).toBeUndefined();
    expect(readSurveyed(surveyed(file("f.mjs", "`//# sourceURL=${1 //# sourceURL=b.mjs\n}`")))).toBeUndefined();
    expect(readSurveyed(surveyed(file("g.mjs", "'//# sourceURL=' + `//# sourceURL=${1}`")))).toBeDefined();
    expect(readSurveyed(surveyed(file("b.mjs", "1;\n//# sourceMappingURL=b.map\n2;\n")))).toBeUndefined();
    expect(readSurveyed(surveyed(file("c.mjs", "1;\n//# sourceMappingURL=c.map\n")))?.sourceMapUrl).toBe("c.map");
    expect(readSurveyed(surveyed(file("d.js", "1;\n")))).toBeUndefined();
    writeFileSync(join(directory, "package.json"), '{"type":"module"}');
    expect(readSurveyed(surveyed(file("e.mjs", "let let = 1;\n")))).toBeUndefined();
    origin.mockRestore();
  });
});
