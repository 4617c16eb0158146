import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ExplainedPart, Explanation } from "../functions/index.ts";
import type { Terminal } from "./command.ts";
import { formatBytes, formatExplanation, wrapText } from "./format-explanation.ts";

function terminal(columns = Number.POSITIVE_INFINITY): Terminal {
  return { columns, print: () => undefined, complain: () => undefined, tone: (_tone, text) => text };
}

function part(name: string, facts: Partial<ExplainedPart> = {}): ExplainedPart {
  return {
    name,
    kind: "variable",
    value: "3",
    by: "value",
    reason: "a copy of its value",
    bytes: 2,
    codeBytes: 0,
    refusal: undefined,
    sameAs: undefined,
    parts: [],
    omitted: 0,
    ...facts,
  };
}

const refusal = { path: "look -> client -> socket", reason: "net.Socket holds an open handle", fix: "Make it there." };
const base: Explanation = {
  name: "look",
  kind: "routine",
  by: "value",
  reason: "it is not an export of its module",
  stability: "constant",
  bytes: 1234,
  codeBytes: 567,
  parts: [],
  omitted: 0,
  refusal: undefined,
  notes: [],
};

describe("formatExplanation", () => {
  it("shows a function without anything captured", () => {
    expect(formatExplanation("api.look", base, terminal())).toBe(
      [
        "api.look (routine) travels by value",
        "  why: it is not an export of its module",
        "  size: 1.2 kB and 567 B of code",
      ].join("\n"),
    );
  });

  it("leaves out sizes that nobody knows", () => {
    expect(formatExplanation("look", { ...base, bytes: undefined }, terminal())).not.toContain("size");
  });

  it("aligns the columns of a tree", () => {
    const inner = part("inner", { value: "[Function: inner]", codeBytes: 120, parts: [part("limit")], omitted: 2 });
    const same = part("again", { sameAs: "look -> inner", reason: "the same as look -> inner", bytes: 0 });
    expect(
      formatExplanation("look", { ...base, parts: [inner, same] }, terminal())
        .split("\n")
        .slice(4),
    ).toEqual([
      "  ├─ inner = [Function: inner]  by value  2 B + 120 B code  a copy of its value",
      "  │  ├─ limit = 3               by value               2 B  a copy of its value",
      "  │  └─ 2 more",
      "  └─ again = 3                                              the same as look -> inner",
    ]);
  });

  it("tells a refusal once, where it is nearest", () => {
    const client = part("client", { by: "nothing", bytes: undefined, codeBytes: undefined, refusal });
    const outer = part("connect", { by: "nothing", bytes: undefined, codeBytes: undefined, refusal, parts: [client] });
    const text = formatExplanation("look", { ...base, by: "nothing", refusal, parts: [outer] }, terminal());
    expect(text.split("\n")).toEqual([
      "look (routine) cannot travel",
      "  refused: look -> client -> socket: net.Socket holds an open handle",
      "  fix: Make it there.",
      "",
      "  └─ ✖ connect = 3    refused",
      "     └─ ✖ client = 3  refused",
      "          refused: look -> client -> socket: net.Socket holds an open handle",
      "          fix: Make it there.",
    ]);
  });

  it.each([100, 80, 60, 50])("keeps within %i columns, whatever there is to say", (columns) => {
    const long = part("settings", { value: `{ ${"key: 'value', ".repeat(10)}}`, reason: "because ".repeat(30).trim() });
    const refused = part("client", { value: "x".repeat(80), by: "nothing", bytes: undefined, refusal, parts: [long] });
    const explanation = { ...base, reason: "because ".repeat(30).trim(), parts: [long, refused] };
    const lines = formatExplanation("look", explanation, terminal(columns)).split("\n");
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(columns);
    expect(lines.join(" ").match(/because/g)).toHaveLength(90);
  });
});

it.each([
  [0, "0 B"],
  [999, "999 B"],
  [1000, "1.0 kB"],
  [9949, "9.9 kB"],
  [9951, "10 kB"],
  [999_499, "999 kB"],
  [999_500, "1.0 MB"],
  [123_456_789, "123 MB"],
  [5_000_000_000, "5.0 GB"],
])("%i bytes are %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

it("breaks between words, and leaves longer ones whole", () => {
  expect(wrapText("one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapText("extraordinary one", 5)).toEqual(["extraordinary", "one"]);
  expect(wrapText("one two", Number.POSITIVE_INFINITY)).toEqual(["one two"]);
  expect(wrapText("", 5)).toEqual([]);
});

it("keeps all words, and lines to the width", () => {
  const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1 });
  fc.assert(
    fc.property(words, fc.integer({ min: 8, max: 40 }), (list, width) => {
      const lines = wrapText(list.join(" "), width);
      expect(lines.join(" ")).toBe(list.join(" "));
      expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(width);
    }),
  );
});
