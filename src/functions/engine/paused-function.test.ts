import { expect, test } from "vitest";
import { pauseIn } from "./paused-function.ts";

let ran: string[] = [];

function note(what: string): string {
  ran.push(what);
  return what;
}

test("shows the receiver of an arrow function and runs nothing", () => {
  ran = [];
  class Owner {
    plain = () => [note("body"), this];
    withDefaults = ({ a = note("default") } = { a: note("object") }, [b = note("element")] = []) => [a, b, this];
    later = async () => [note("async"), this];
  }
  const owner = new Owner();
  for (const fn of [owner.plain, owner.withDefaults, owner.later]) {
    const seen = pauseIn(fn, { parameterCount: 2, way: "call" }, (frame) => ({ receiver: frame.receiver() }));
    expect(seen?.receiver).toBe(owner);
  }
  expect(ran).toEqual([]);
});

test("reaches variables of generators and classes and runs nothing", () => {
  ran = [];
  let variable = 1;
  function* generator(): Generator<unknown> {
    yield [note("generator"), variable];
  }
  class Made {
    field = note("field");
    constructor() {
      note("constructor");
      variable += 1;
    }
  }
  const readFromGenerator = pauseIn(generator, { parameterCount: 0, way: "iterate" }, (frame) =>
    frame.reader("variable"),
  );
  const readFromClass = pauseIn(Made, { parameterCount: 0, way: "construct" }, (frame) => frame.reader("variable"));
  expect([readFromGenerator?.(), readFromClass?.()]).toEqual([1, 1]);
  variable = 5;
  expect([readFromGenerator?.(), readFromClass?.()]).toEqual([5, 5]);
  expect(ran).toEqual([]);
});

test("changes a variable for a moment only", () => {
  let variable: unknown = Symbol("kept");
  const before = variable;
  const read = (): unknown => variable;
  const seen = pauseIn(read, { parameterCount: 0, way: "call" }, (frame) => {
    const reader = frame.reader("variable");
    let inside: unknown;
    frame.withVariable("variable", "mark", variable, () => {
      inside = reader();
    });
    return inside;
  });
  expect(seen).toBe("mark");
  expect(variable).toBe(before);
  variable = undefined;
});

test("goes on as before", async () => {
  let count = 0;
  const up = (): number => ++count;
  for (let index = 0; index < 20; index += 1) pauseIn(up, { parameterCount: 0, way: "call" }, () => true);
  expect(count).toBe(0);
  expect(await Promise.resolve().then(up)).toBe(1);
});
