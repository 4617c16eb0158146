import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { functionPort } from "../function-port.ts";
import { ValueEncoder } from "../value-encoder.ts";

const directory = mkdtempSync(join(tmpdir(), "wool-refusals-"));
let make: () => (() => number)[];

beforeAll(async () => {
  const home = join(directory, "node_modules", "many");
  mkdirSync(home, { recursive: true });
  writeFileSync(join(home, "package.json"), '{ "name": "many", "type": "module", "exports": "./index.js" }');
  writeFileSync(
    join(home, "index.js"),
    "export const make = () => Array.from({ length: 1300 }, (_, index) => () => index);",
  );
  ({ make } = await import(pathToFileURL(join(home, "index.js")).href));
});
afterAll(() => rmSync(directory, { recursive: true }));
afterEach(() => vi.restoreAllMocks());

const TOO_MANY = /one of many functions/;

class Watched {
  readonly port = functionPort();
  readonly dismantle = vi.fn(this.port.dismantle);
  readonly encoder = new ValueEncoder({ ...this.port, dismantle: this.dismantle });

  /** How many functions it takes to encode these values, and what is wrong with them. */
  encode(...values: readonly unknown[]): { asked: number; message: string } {
    this.dismantle.mockClear();
    let message = "";
    try {
      this.encoder.encodeList(values, "args");
    } catch (error) {
      message = error instanceof Error ? error.message : "";
    }
    return { asked: this.dismantle.mock.calls.length, message };
  }
}

describe("a value with too many functions", () => {
  it("is refused at once when it is passed again, with an error of its own", () => {
    const { encoder } = new Watched();
    const value = { steps: make() };
    const errors = [1, 2].map(() => {
      try {
        return encoder.encode(value);
      } catch (error) {
        return error;
      }
    });
    expect(errors[0]).not.toBe(errors[1]);
    expect(errors[1]).toEqual(errors[0]);
    expect(errors[1]).toMatchObject({ path: expect.stringMatching(/^value\.steps/), cause: expect.anything() });
  });

  it("is not taken apart again, whatever data is passed with it", () => {
    const watched = new Watched();
    const value = { steps: make() };
    expect(watched.encode(value, { row: [1] })).toMatchObject({ message: expect.stringMatching(TOO_MANY) });
    for (const other of [{ row: [2] }, 3, () => 4]) {
      expect(watched.encode(value, other)).toEqual({ asked: 0, message: expect.stringMatching(/^args\[0\]/) });
    }
    expect(watched.encode(1, value).message).toMatch(/^args\[1\]/);
  });

  const steps = (): object => ({ list: make() });
  const changes: Record<string, readonly [make: () => object, change: (value: object) => unknown]> = {
    "a property": [steps, (value) => Reflect.set(value, "list", 1)],
    "an added property": [steps, (value) => Reflect.set(value, "more", 1)],
    "an element": [() => make(), (value) => Reflect.set(value, 0, 1)],
    "its class": [steps, (value) => Object.setPrototypeOf(value, null)],
    "an entry of a map": [() => new Map([[1, make()]]), (value) => value instanceof Map && value.delete(1)],
    "an entry of a set": [() => new Set(make()), (value) => value instanceof Set && value.clear()],
    "a function in it": [
      () => ({ first: Object.assign(() => 1, { unit: "m" }), list: make() }),
      (value) => Reflect.set(Reflect.get(value, "first"), "unit", "cm"),
    ],
  };
  it.each(Object.entries(changes))("is looked at again after a change of %s", (_title, [create, change]) => {
    const watched = new Watched();
    const value = create();
    expect(watched.encode(value).message).toMatch(TOO_MANY);
    expect(watched.encode(value)).toMatchObject({ asked: 0 });
    change(value);
    const { asked, message } = watched.encode(value);
    expect(asked > 0 || message === "").toBe(true);
  });

  it("travels when a captured variable has another value", () => {
    const watched = new Watched();
    let held: unknown = make();
    const set = (value: unknown): void => {
      held = value;
    };
    const fn = (): unknown => held;
    expect(watched.encode(fn).message).toMatch(TOO_MANY);
    expect(watched.encode(fn)).toMatchObject({ asked: 0 });
    set([]);
    expect(watched.encode(fn).message).toBe("");
  });

  it("is looked at again after a while", () => {
    const watched = new Watched();
    const value = make();
    watched.encode(value);
    expect(watched.encode(value).asked).toBe(0);
    const later = performance.now() + 60_000;
    vi.spyOn(performance, "now").mockImplementation(() => later);
    expect(watched.encode(value).asked).toBeGreaterThan(0);
  });
});
