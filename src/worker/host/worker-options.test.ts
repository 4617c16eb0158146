import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../../errors.ts";
import { checkWorkerOptions } from "./worker-options.ts";

const strings = { right: [[], ["a", "b"]], wrong: ["a", [1], {}], must: "an array of strings" };
const record = { right: [{}, { a: "b" }], wrong: [{ a: 1 }, "a", 5], must: "an object with strings for values" };
const counts = { right: [1, 64], wrong: [0, -1, 1.5, Number.NaN, "2"], must: "a whole number, 1 or more" };
const milliseconds = { right: [0, 0.5, Number.POSITIVE_INFINITY], wrong: [-1, Number.NaN, "5"], must: "milliseconds" };
const object = { right: [{}], wrong: [5, "x", []], must: "an object" };

const CASES = Object.entries({
  tags: strings,
  extra: record,
  host: { right: ["127.0.0.1", "::"], wrong: ["", 5], must: "a host name or address" },
  port: { right: [], wrong: [-1, 65_536, 1.5, "80"], must: "a whole number from 0 to 65535" },
  threads: counts,
  maxConcurrency: counts,
  preload: strings,
  env: record,
  execArgv: strings,
  resourceLimits: object,
  shareBudget: {
    right: [1, 2 ** 40, Number.POSITIVE_INFINITY],
    wrong: [0, -1, 1.5, Number.NaN, "5"],
    must: "a whole number, 1 or more",
  },
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

  it.each([
    ["env", { A: "b\0c" }],
    ["env", { "A\0B": "c" }],
    ["execArgv", ["--title=a\0b"]],
  ])("%s takes no NUL characters", (option, value) => {
    expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(InvalidArgument);
    expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(
      `LocalWorker: option "${option}" must be without NUL characters`,
    );
  });

  it("a port needs a host", () => {
    for (const port of [0, 5, 65_535]) {
      expect(() => checkWorkerOptions({ port, host: "::" }, "LocalWorker")).not.toThrow();
      expect(() => checkWorkerOptions({ port }, "LocalWorker")).toThrow(InvalidArgument);
      expect(() => checkWorkerOptions({ port }, "LocalWorker")).toThrow(/"port" needs a "host"/);
    }
  });

  it.each<[object, string]>([
    [{ channel: { maxMessageByte: 5 } }, 'LocalWorker: channel has no option "maxMessageByte"; did you mean'],
    [{ channel: { maxMessageBytes: -5 } }, 'option "maxMessageBytes" must be a whole number, 131072 or more, not -5'],
    [{ channel: { threads: 0.5 } }, 'option "threads" must be a whole number, 1 or more, not 0.5'],
    [{ channel: { maxConcurrency: "2" } }, 'option "maxConcurrency" must be a whole number, 1 or more, not "2"'],
    [
      { channel: { keepaliveInterval: -1 } },
      'option "keepaliveInterval" must be a number of milliseconds, zero or more',
    ],
    [
      { channel: { keepaliveTimeout: "5" } },
      'option "keepaliveTimeout" must be a number of milliseconds, zero or more',
    ],
    [{ channel: { compression: "br" } }, 'option "compression" must be "none" or "gzip", not "br"'],
    [
      { channel: { threads: 2 } },
      'option "channel.threads" is 2, and a worker advertises what it has: set "threads" instead',
    ],
    [{ threads: 2, channel: { maxConcurrency: 3 } }, 'set "maxConcurrency" instead'],
    [{ resourceLimits: { maxOldGenerationSizeMB: 5 } }, "LocalWorker: resourceLimits has no option"],
    [{ resourceLimits: { maxOldGenerationSizeMb: "5" } }, 'must be a number of megabytes above zero, not "5"'],
    [{ resourceLimits: { maxYoungGenerationSizeMb: -5 } }, "must be a number of megabytes above zero, not -5"],
    [{ resourceLimits: { codeRangeSizeMb: Number.NaN } }, "must be a number of megabytes above zero, not NaN"],
    [{ resourceLimits: { stackSizeMb: 0 } }, "must be a number of megabytes above zero, not 0"],
  ])("%o is refused for what is inside", (options, text) => {
    expect(() => checkWorkerOptions(options, "LocalWorker")).toThrow(InvalidArgument);
    expect(() => checkWorkerOptions(options, "LocalWorker")).toThrow(text);
  });

  it("what is inside of others is taken as it may be", () => {
    const channel = {
      maxMessageBytes: 131_072,
      keepaliveInterval: 0.5,
      keepaliveTimeout: 5,
      maxConcurrency: 2,
      threads: undefined,
      compression: "gzip",
    };
    const resourceLimits = {
      maxOldGenerationSizeMb: 40,
      maxYoungGenerationSizeMb: 0.5,
      codeRangeSizeMb: 8,
      stackSizeMb: 1,
    };
    expect(() => checkWorkerOptions({ channel, maxConcurrency: 2, resourceLimits }, "LocalWorker")).not.toThrow();
  });

  it.each(["tags", "extra", "env"])("%s does not take an array for an object, or the other way", (option) => {
    const value = option === "tags" ? { 0: "a" } : ["a"];
    expect(() => checkWorkerOptions({ [option]: value }, "LocalWorker")).toThrow(InvalidArgument);
  });
});
