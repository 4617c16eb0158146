import fc from "fast-check";
import { expect, test } from "vitest";
import { SourceEdits } from "./source-edits.ts";

test("replaces, inserts and keeps what is around", () => {
  const edits = new SourceEdits();
  edits.replace({ start: 4, end: 5 }, "B");
  edits.insert(4, "<");
  edits.insert(5, ">");
  expect(edits.apply("a + b + c", { start: 0, end: 9 })).toBe("a + <B> + c");
});

test("a replacement swallows what lies inside of it", () => {
  const edits = new SourceEdits();
  edits.replace({ start: 3, end: 4 }, "x");
  edits.replace({ start: 2, end: 7 }, "y");
  expect(edits.apply("01234567", { start: 0, end: 8 })).toBe("01y7");
});

test("what lies outside of the range is left out", () => {
  const edits = new SourceEdits();
  edits.replace({ start: 0, end: 1 }, "x");
  edits.insert(6, "!");
  expect(edits.apply("abcdef", { start: 2, end: 6 })).toBe("cdef!");
});

test("separate edits give the same text in any order", () => {
  const pieces = fc.array(fc.record({ kept: fc.string(), cut: fc.string({ minLength: 1 }), put: fc.string() }));
  fc.assert(
    fc.property(pieces, fc.nat(), (list, turn) => {
      let source = "";
      let expected = "";
      const places: { start: number; end: number; put: string }[] = [];
      for (const { kept, cut, put } of list) {
        source += kept;
        places.push({ start: source.length, end: source.length + cut.length, put });
        source += cut;
        expected += kept + put;
      }
      const edits = new SourceEdits();
      const at = list.length === 0 ? 0 : turn % list.length;
      for (const { put, ...range } of [...places.slice(at), ...places.slice(0, at)]) edits.replace(range, put);
      expect(edits.apply(source, { start: 0, end: source.length })).toBe(expected);
    }),
  );
});
