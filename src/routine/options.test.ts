import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeValue } from "../checks/check-options.ts";
import { InvalidArgument } from "../errors.ts";
import { checkCallOptions, checkRoutineOptions } from "./options.ts";

const carrier = { call: () => Promise.resolve(), stream: () => undefined, run: () => undefined };
const serializer = { dumps: () => new Uint8Array(0), loads: () => undefined };

interface Case {
  readonly option: string;
  readonly right: readonly unknown[];
  readonly wrong: readonly unknown[];
  readonly must: string;
}

const milliseconds = {
  right: [0, 0.5, 1000, Number.POSITIVE_INFINITY],
  wrong: [-1, Number.NaN, "5", 5n, null],
  must: "a number of milliseconds, zero or more",
};
const ROUTINE_CASES: readonly Case[] = [
  { option: "name", right: ["a", " "], wrong: ["", 1, null], must: "a string that is not empty" },
  { option: "timeout", ...milliseconds },
  { option: "dispatchTimeout", ...milliseconds },
  { option: "idempotent", right: [true, false], wrong: [0, "true", null], must: "true or false" },
  {
    option: "ship",
    right: ["auto", "reference", "value"],
    wrong: ["Auto", true],
    must: '"auto", "reference" or "value"',
  },
  {
    option: "serializer",
    right: [serializer],
    wrong: [{}, { dumps: serializer.dumps }, { dumps: 1, loads: 1 }, "json", null],
    must: "an object with the methods dumps and loads",
  },
  {
    option: "prefetch",
    right: [0, 1, 100],
    wrong: [-1, 0.5, Number.POSITIVE_INFINITY, "1"],
    must: "a whole number, zero or more",
  },
];
const CALL_CASES: readonly Case[] = [
  ...ROUTINE_CASES,
  {
    option: "signal",
    right: [new AbortController().signal],
    wrong: [new AbortController(), {}],
    must: "an AbortSignal",
  },
  {
    option: "pool",
    right: [carrier],
    wrong: [{}, { call: 1, stream: 1 }, null],
    must: "a WorkerPool or WorkerProxy",
  },
  { option: "key", right: ["", "user-7"], wrong: [7, Symbol("k")], must: "a string" },
];

describe("options of a routine and of a call", () => {
  for (const { option, right, wrong, must } of CALL_CASES) {
    it(`${option} is ${must}`, () => {
      for (const value of right) expect(() => checkCallOptions({ [option]: value }, "x.with()")).not.toThrow();
      for (const value of wrong) {
        expect(() => checkCallOptions({ [option]: value }, "x.with()")).toThrow(
          new InvalidArgument(`x.with(): option "${option}" must be ${must}, not ${describeValue(value)}`),
        );
      }
    });
  }

  it("may be absent, or undefined", () => {
    expect(() => checkRoutineOptions({}, "routine()")).not.toThrow();
    for (const { option } of CALL_CASES) {
      expect(() => checkCallOptions({ [option]: undefined }, "x.with()")).not.toThrow();
    }
  });

  it("those of one call are not for the routine", () => {
    for (const option of ["signal", "pool", "key"]) {
      expect(() => checkRoutineOptions({ [option]: "x" }, "routine()")).toThrow(InvalidArgument);
    }
    for (const { option, right } of ROUTINE_CASES) {
      expect(() => checkRoutineOptions({ [option]: right[0] }, "routine()")).not.toThrow();
    }
  });

  it("must be an object", () => {
    for (const value of [5, "fast", null, undefined, [], () => 1]) {
      expect(() => checkRoutineOptions(value, "routine()")).toThrow(
        new InvalidArgument(`routine() takes an options object, not ${describeValue(value)}`),
      );
    }
  });

  it("an unknown one is refused with the name that was meant", () => {
    const cases = {
      timeOut: "timeout",
      timout: "timeout",
      prefech: "prefetch",
      idempotend: "idempotent",
      Ship: "ship",
    };
    for (const [wrong, meant] of Object.entries(cases)) {
      expect(() => checkRoutineOptions({ [wrong]: 1 }, "routine()")).toThrow(`did you mean "${meant}"?`);
      expect(() => checkRoutineOptions({ [wrong]: 1 }, "routine()")).toThrow(`"${wrong}"`);
    }
  });

  it("an unknown one that is like none is refused with all there are", () => {
    expect(() => checkRoutineOptions({ concurrencyLevel: 1 }, "routine()")).toThrow(
      "name, timeout, dispatchTimeout, idempotent, ship, serializer, results, prefetch",
    );
  });

  it("names of Object.prototype are no options", () => {
    for (const key of ["constructor", "toString", "hasOwnProperty", "__proto__"]) {
      const options: unknown = JSON.parse(`{ ${JSON.stringify(key)}: 1 }`);
      expect(() => checkRoutineOptions(options, "routine()")).toThrow(InvalidArgument);
    }
  });

  it("any one slip of the pen in a name of some length finds what was meant", () => {
    const long = ["timeout", "dispatchTimeout", "idempotent", "serializer", "prefetch"];
    fc.assert(
      fc.property(
        fc.constantFrom(...long),
        fc.nat(),
        fc.constantFrom("drop", "double", "replace"),
        (name, at, slip) => {
          const i = at % name.length;
          const insert = { drop: "", double: name.charAt(i).repeat(2), replace: "#" }[slip];
          const wrong = name.slice(0, i) + insert + name.slice(i + 1);
          fc.pre(wrong !== name);
          expect(() => checkRoutineOptions({ [wrong]: 1 }, "routine()")).toThrow(`did you mean "${name}"?`);
        },
      ),
    );
  });
});
