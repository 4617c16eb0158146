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
    const seen = pauseIn(fn, { parameterCount: 2, way: "call" }, (paused) => ({ receiver: paused.receiver() }));
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
  const reader = (fn: object, way: "iterate" | "construct"): unknown =>
    pauseIn(fn, { parameterCount: 0, way }, (paused) => paused.evaluate("() => variable"));
  const readers = [reader(generator, "iterate"), reader(Made, "construct")];
  const read = (): unknown[] => readers.map((each) => (typeof each === "function" ? each() : each));
  expect(read()).toEqual([1, 1]);
  variable = 5;
  expect(read()).toEqual([5, 5]);
  expect(ran).toEqual([]);
});

test("goes on as before", async () => {
  let count = 0;
  const up = (): number => ++count;
  for (let index = 0; index < 20; index += 1) pauseIn(up, { parameterCount: 0, way: "call" }, () => true);
  expect(count).toBe(0);
  expect(await Promise.resolve().then(up)).toBe(1);
});
