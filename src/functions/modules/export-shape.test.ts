import { expect, it } from "vitest";
import { shapeOf } from "./export-shape.ts";

it("changes when a program adds functions or accessors to a function, or to what its instances inherit", () => {
  class Schema {
    check(): boolean {
      return true;
    }
  }
  const shapes = new Set([shapeOf(Schema)]);
  Object.assign(Schema, { make: () => new Schema() });
  shapes.add(shapeOf(Schema));
  Object.assign(Schema.prototype, { parse: () => 1 });
  shapes.add(shapeOf(Schema));
  Object.defineProperty(Schema.prototype, "optional", { get: () => 1, configurable: true });
  shapes.add(shapeOf(Schema));
  expect(shapes.size).toBe(4);
});

it("is the same for what has the same members, and does not depend on data", () => {
  const make = () =>
    class {
      get size(): number {
        return 1;
      }
    };
  const [one, other] = [make(), make()];
  Object.assign(other, { version: 2 });
  expect(shapeOf(one)).toBe(shapeOf(other));
  expect(shapeOf(() => 1)).toBe("");
});

it("tells classes with the same members and other code apart when asked to", () => {
  const one = class {
    name(): string {
      return "one";
    }
  };
  const other = class {
    name(): string {
      return "other";
    }
  };
  expect(shapeOf(one)).toBe(shapeOf(other));
  expect(shapeOf(one, true)).not.toBe(shapeOf(other, true));
  expect(shapeOf(one.prototype, true)).not.toBe(shapeOf(other.prototype, true));
  expect(shapeOf(one.prototype, true)).toBe(
    shapeOf(Object.create(null, Object.getOwnPropertyDescriptors(one.prototype)), true),
  );
});
