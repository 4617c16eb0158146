import { describe, expect, it } from "vitest";
import { asOneCapture } from "../engine/index.ts";
import { dismantleWithReason, previewOf } from "./dismantle.ts";

describe("a method that is looked at before it travels", () => {
  it("is taken apart once, whatever object has it", () => {
    const factor = 2;
    const holder = { scaled: (value: number): number => value * factor };
    const bound = holder.scaled.bind(holder);
    // The results for such functions are not kept after a capture.
    for (const fn of [holder.scaled, bound]) Object.assign(fn, { unit: "m" });
    asOneCapture(() => {
      for (const fn of [holder.scaled, bound]) {
        const preview = previewOf(fn, {});
        expect(dismantleWithReason(fn, { holder })).toBe(preview);
      }
    });
  });

  it("is taken apart for its object if it uses super", () => {
    const holder = {
      __proto__: { scaled: (value: number): number => 2 * value },
      scaled(value: number): number {
        return super.scaled(value);
      },
    };
    asOneCapture(() => {
      const preview = previewOf(holder.scaled, { holder });
      const other = { __proto__: null, scaled: holder.scaled };
      expect(dismantleWithReason(holder.scaled, { holder })).toBe(preview);
      expect(dismantleWithReason(holder.scaled, { holder: other })).not.toBe(preview);
    });
  });
});
