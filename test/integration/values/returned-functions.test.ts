import { afterAll, beforeAll, expect, test } from "vitest";
import { routine, SerializationError, type WorkerPool } from "wool-ts";
import { poolOf } from "../../support/pool-of.ts";

/** Functions that were sent to a worker and come back in a result. */

let pool: WorkerPool;

beforeAll(async () => {
  pool = await poolOf(1);
});
afterAll(async () => {
  await pool.stop();
});

class Meter {
  value = 1;
  read = (): number => this.value;
  readonly bound: () => number;

  constructor() {
    this.bound = this.plain.bind(this);
  }

  plain(): number {
    return this.value;
  }
}

interface OldMeter {
  value: number;
  read(): number;
}

function makeOldMeter(): OldMeter {
  const self: OldMeter = {
    value: 1,
    read: function () {
      return self.value;
    },
  };
  return self;
}

function makeCounter(): { increase(): number; count(): number } {
  let n = 0;
  const increase = (): number => {
    n += 1;
    return n;
  };
  return { increase, count: () => n };
}

test("functions of an object that was passed belong to the object that comes back", async () => {
  const change = routine(async <T extends { value: number }>(meter: T) => {
    meter.value = 7;
    return meter;
  });
  const original = new Meter();
  const meter = await change(original);
  expect([meter.value, meter.read(), meter.bound()]).toEqual([7, 7, 7]);
  meter.value = 8;
  expect([meter.read(), meter.bound(), original.read()]).toEqual([8, 8, 1]);
  const old = await change(makeOldMeter());
  expect([old.value, old.read()]).toEqual([7, 7]);
});

test("functions of an object that was captured belong to the object that comes back", async () => {
  const meter = new Meter();
  const changed = await routine(async () => {
    meter.value = 7;
    return meter;
  })();
  expect([changed.read(), changed.bound(), meter.read(), meter.bound()]).toEqual([7, 7, 1, 1]);
});

test("variables of functions that were passed come back with them", async () => {
  const increaseTwice = routine(async (counter: ReturnType<typeof makeCounter>) => {
    counter.increase();
    counter.increase();
    return counter;
  });
  const [original, back] = [makeCounter(), await increaseTwice(makeCounter())];
  expect([back.count(), back.increase(), back.count(), original.count()]).toEqual([2, 3, 3, 0]);
  expect((await increaseTwice(back)).count()).toBe(5);
});

test("a function without such state comes back as the original, and so does one that was captured", async () => {
  const double = (n: number): number => n * 2;
  const echo = routine(async (fn: unknown) => fn);
  expect(await echo(double)).toBe(double);
  const seen: number[] = [];
  const handlers = { note: (n: number) => seen.push(n) };
  const handler = await routine(async (name: "note") => handlers[name])("note");
  handler(5);
  expect(handler).toBe(handlers.note);
  expect(seen).toEqual([5]);
});

test("a function that uses private names cannot belong to an object that comes back, and is refused", async () => {
  class Sealed {
    #value = 1;
    read = (): number => this.#value;
    set(value: number): void {
      this.#value = value;
    }
  }
  const change = routine(async (sealed: Sealed) => {
    sealed.set(2);
    return sealed;
  });
  const reason: unknown = await change(new Sealed()).catch((error: unknown) => error);
  expect(reason).toBeInstanceOf(SerializationError);
  expect(String(reason)).toMatch(/result\.read: "read" uses private names .* write it as a method/i);
});

test("those that have captured nothing of what goes back are the originals", async () => {
  const step = 3;
  const ring: { next?: unknown; limits: readonly number[] } = { limits: Object.freeze([1, 2]) };
  ring.next = ring;
  Object.freeze(ring);
  const functions = {
    plain: (x: number) => x + 1,
    constant: (x: number) => x + step,
    frozen: () => ring,
  };
  const returned = await routine(async (given: typeof functions) => given)(functions);
  for (const [name, fn] of Object.entries(functions))
    expect([name, Reflect.get(returned, name) === fn]).toEqual([name, true]);
});
