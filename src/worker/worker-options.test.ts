import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { checkWorkerOptions } from "./worker-options.ts";

const strings = { right: [[], ["a", "b"]], wrong: ["a", [1], {}], must: "an array of strings" };
const record = { right: [{}, { a: "b" }], wrong: [{ a: 1 }, "a", 5], must: "an object with strings for values" };
const counts = { right: [1, 64], wrong: [0, -1, 1.5, Number.NaN, "2"], must: "a whole number, 1 or more" };
const milliseconds = { right: [0, 0.5, Number.POSITIVE_INFINITY], wrong: [-1, Number.NaN, "5"], must: "milliseconds" };
const object = { right: [{}], wrong: [5, "x"], must: "an object" };

const CASES = Object.entries({
  tags: strings,
  extra: record,
  host: { right: ["127.0.0.1", "::"], wrong: ["", 5], must: "a host name or address" },
  port: { right: [0, 65_535], wrong: [-1, 65_536, 1.5, "80"], must: "a whole number from 0 to 65535" },
  threads: counts,
  maxConcurrency: counts,
  preload: strings,
  env: record,
  execArgv: strings,
  resourceLimits: object,
  proxyPoolTtl: milliseconds,
  shutdownGracePeriod: milliseconds,
  channel: object,
});

describe("the options of a worker", () => {
  it.each(CASES)("%s", (option, { right, wrong, must }) => {
    for (const value of [...right, undefined]) {
      expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).not.toThrow();
    }
    for (const value of [...wrong, null]) {
      expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(InvalidArgument);
      expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(must);
    }
  });

  it("an unknown one is refused with the name that was meant", () => {
    expect(() => checkWorkerOptions({ maxConcurency: 5 }, "LocalWorker")).toThrow(
      /LocalWorker.*"maxConcurency".*did you mean "maxConcurrency"/,
    );
  });

  it.each(["tags", "extra", "env"])("%s does not take an array for an object, or the other way", (option) => {
    const value = option === "tags" ? { 0: "a" } : ["a"];
    expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(InvalidArgument);
  });
});
