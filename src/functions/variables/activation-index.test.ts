import inspector from "node:inspector";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { dismantle, foresee } from "../capture/index.ts";
import { asOneCapture } from "../engine/index.ts";
import { Cell } from "../shipment/index.ts";

afterEach(() => void vi.restoreAllMocks());

/** Functions that share a variable: the first assigns to it. All activations hold the same value. */
function counter(): (() => unknown)[] {
  let total = 0;
  return [() => (total += 1), () => total, () => total > 0, () => [total]];
}

/** Takes the functions apart in this order, in one capture, and returns the cell of each. */
function cellsOf(functions: readonly (() => unknown)[]): (Cell | undefined)[] {
  return asOneCapture(() => {
    foresee(functions);
    return functions.map((fn) => dismantle(fn).parts.find((part) => part instanceof Cell));
  });
}

const ORDERS: Record<string, (counters: (() => unknown)[][]) => (() => unknown)[]> = {
  "in pairs": (counters) => counters.flatMap((each) => each.slice(0, 2)),
  "in threes": (counters) => counters.flatMap((each) => each.slice(0, 3)),
  "in fours": (counters) => counters.flat(),
  "one of each": (counters) => counters.flatMap(([, read]) => read ?? []),
  "the same code first": (counters) => [0, 1, 2].flatMap((place) => counters.flatMap((each) => each[place] ?? [])),
  "in the opposite order": (counters) => counters.flat().toReversed(),
  "in an order without a pattern": (counters) =>
    counters.flat().toSorted((a, b) => rank(counters, a) - rank(counters, b)),
};

function rank(counters: (() => unknown)[][], fn: () => unknown): number {
  return (counters.flat().indexOf(fn) * 7919) % 31;
}

it.each(Object.entries(ORDERS))("functions that share variables share a cell, and no others do: %s", (_, order) => {
  const counters = Array.from({ length: 6 }, counter);
  const functions = order(counters);
  const cells = cellsOf(functions);
  for (const [index, fn] of functions.entries()) {
    const owner = counters.findIndex((each) => each.includes(fn));
    const sharing = functions.filter((_fn, other) => cells[other] === cells[index]);
    expect(sharing).toEqual(functions.filter((other) => counters[owner]?.includes(other)));
  }
  expect(counters.map(([, read]) => read?.())).toEqual([0, 0, 0, 0, 0, 0]);
});

it("takes the scopes of two functions from the engine together", () => {
  const counters = Array.from({ length: 20 }, counter);
  cellsOf([counter()[0] ?? counter, counter()[1] ?? counter]);
  const post = vi.spyOn(inspector.Session.prototype, "post");
  cellsOf(counters.flatMap((each) => each.slice(0, 2)));
  const taken = post.mock.calls.filter(([method]) => String(method) === "Runtime.callFunctionOn");
  expect(taken.length).toBeLessThan(30);
});

it("needs the engine no more for functions whose variable one of them has made readable", () => {
  const counters = Array.from({ length: 5 }, counter);
  const functions = counters.flat();
  const before = cellsOf(functions);
  for (const [index, [raise]] of counters.entries()) for (let times = 0; times < index; times++) raise?.();
  const post = vi.spyOn(inspector.Session.prototype, "post");
  const cells = cellsOf(functions);
  expect(post).not.toHaveBeenCalled();
  expect(cells).toEqual(before);
  expect(cells.map((cell) => cell?.v)).toEqual(counters.flatMap((each, index) => each.map(() => index)));
});

describe("in later captures", () => {
  /** For each function, those that share its cell. */
  const groups = (functions: readonly (() => unknown)[]): (() => unknown)[][] => {
    const cells = cellsOf(functions);
    return functions.map((_, index) => functions.filter((_fn, other) => cells[other] === cells[index]));
  };
  const expected = (functions: readonly (() => unknown)[], counters: (() => unknown)[][]): (() => unknown)[][] =>
    functions.map((fn) => {
      const own = counters.find((each) => each.includes(fn));
      return functions.filter((other) => own?.includes(other));
    });

  it("functions share a cell as they share variables, whichever were captured together before", () => {
    const counters = Array.from({ length: 4 }, counter);
    let seed = 1;
    const random = (below: number): number => {
      seed = (seed * 48_271) % 2_147_483_647;
      return seed % below;
    };
    for (let round = 0; round < 150; round++) {
      if (round % 10 === 0) counters.push(counter());
      const functions = counters.flat().filter(() => random(4) === 0);
      functions.sort(() => random(3) - 1);
      if (random(5) === 0) for (const [raise] of counters) if (random(2) === 0) raise?.();
      expect(groups(functions)).toEqual(expected(functions, counters));
    }
    const all = counters.flat();
    expect(groups(all)).toEqual(expected(all, counters));
  });

  it("functions that come one by one need no debugger", async () => {
    cellsOf([counter()[1] ?? counter]);
    await setImmediate();
    const post = vi.spyOn(inspector.Session.prototype, "post");
    const counters = Array.from({ length: 10 }, counter);
    for (const [raise, read, isRaised] of counters) {
      for (const fn of [read, isRaised, read]) expect(cellsOf([fn ?? counter])).toEqual([new Cell(0)]);
      raise?.();
    }
    expect(post.mock.calls.map(([method]) => String(method))).not.toContain("Debugger.enable");
  });

  it("functions whose variables hold other values need no debugger", async () => {
    cellsOf([counter()[1] ?? counter]);
    await setImmediate();
    const counters = Array.from({ length: 6 }, counter);
    for (const [index, [raise]] of counters.entries()) for (let times = 0; times < index; times++) raise?.();
    const functions = counters.flatMap(([, read]) => read ?? []);
    const post = vi.spyOn(inspector.Session.prototype, "post");
    expect(cellsOf(functions).map((cell) => cell?.v)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(post.mock.calls.map(([method]) => String(method))).not.toContain("Debugger.enable");
    const all = counters.flat();
    expect(groups(all)).toEqual(expected(all, counters));
  });

  it("functions share a cell when what is beside their variable was not initialised at first", () => {
    const captured: (Cell | undefined)[][] = [];
    const make = (): (() => unknown)[] => {
      let total = 0;
      const raise = (): number => (total += 1);
      captured.push(cellsOf([raise]));
      const state = { unit: "m" };
      const show = (): string => `${total} ${state.unit}`;
      captured.push(cellsOf([raise, show]), cellsOf([show, raise]));
      return [raise, show];
    };
    const [first, second] = [make(), make()];
    for (const [one, other] of captured.filter(({ length }) => length > 1)) expect(one).toBe(other);
    const functions = [...first, ...second];
    expect(groups(functions)).toEqual(expected(functions, [first, second]));
  });
});

describe("an object that each activation makes", () => {
  type Pair = [read: () => unknown, raise: () => unknown];
  const shared = new Map();
  const fresh: Record<string, () => Pair> = {
    "an object": () => {
      let total = 0;
      const beside = { unit: "m" };
      return [() => [total, beside], () => (total += 1)];
    },
    "a map": () => {
      let total = 0;
      const beside = new Map([["unit", "m"]]);
      return [() => [total, beside], () => (total += 1)];
    },
    "a pattern": () => {
      let total = 0;
      const beside = /m/;
      return [() => [total, beside], () => (total += 1)];
    },
    "a class": () => {
      let total = 0;
      class Beside {}
      return [() => [total, Beside], () => (total += 1)];
    },
  };
  const others: Record<string, () => Pair> = {
    "an object of another function": () => {
      let total = 0;
      const beside = Object(shared);
      return [() => [total, beside], () => (total += 1)];
    },
    "what a variable with a usual name makes": () => {
      let total = 0;
      const Map = function () {
        return shared;
      } as unknown as new () => object;
      const beside = new Map();
      return [() => [total, beside], () => (total += 1)];
    },
    "an object that is wrapped": () => {
      let total = 0;
      const beside = new Object(shared);
      return [() => [total, beside], () => (total += 1)];
    },
  };

  it.each([...Object.entries(fresh), ...Object.entries(others)])(
    "tells activations apart, or does not: %s",
    (_, make) => {
      const [first, second] = [make(), make()];
      const [one, other, third, fourth] = cellsOf([...first, ...second]);
      expect(one).toBeInstanceOf(Cell);
      expect(one).toBe(other);
      expect(third).toBe(fourth);
      expect(third).not.toBe(one);
    },
  );

  it.each(Object.entries(fresh))("makes the debugger unnecessary: %s", async (_, make) => {
    cellsOf(make());
    await setImmediate();
    const post = vi.spyOn(inspector.Session.prototype, "post");
    cellsOf([...make(), ...make()]);
    expect(post.mock.calls.map(([method]) => String(method))).not.toContain("Debugger.enable");
  });
});
