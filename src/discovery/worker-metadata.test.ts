import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import type { ChannelOptions } from "./channel-options.ts";
import { checkWorker, equalWorkers, type WorkerMetadata, workerFromJson, workerToJson } from "./worker-metadata.ts";

const VALID = { uid: "w1", address: "unix:/run/w1.sock", pid: 7, version: "1.2.3" };

const anyChannel: fc.Arbitrary<ChannelOptions> = fc.record(
  {
    maxMessageBytes: fc.integer({ min: 131_072 }),
    keepaliveInterval: fc.double({ min: 0, noNaN: true }),
    keepaliveTimeout: fc.double({ min: 0, noNaN: true }),
    maxConcurrency: fc.integer({ min: 1 }),
    threads: fc.integer({ min: 1 }),
    compression: fc.constantFrom("none" as const, "gzip" as const),
  },
  { requiredKeys: [] },
);

const anyWorker: fc.Arbitrary<WorkerMetadata> = fc.record({
  uid: fc.string({ minLength: 1, unit: "binary" }),
  address: fc.oneof(
    fc.constant("host:1"),
    fc.string({ minLength: 1 }).map((path) => `unix:${path}`),
  ),
  pid: fc.nat(),
  version: fc.string(),
  tags: fc.array(fc.string()).map((tags) => new Set(tags)),
  extra: fc.dictionary(fc.oneof(fc.string(), fc.constant("__proto__")), fc.string(), { noNullPrototype: true }),
  secure: fc.boolean(),
  channel: anyChannel,
  languages: fc.constantFrom(["py"], ["go", "node"]),
});

describe("worker metadata as JSON", () => {
  it("comes back as it was", () => {
    fc.assert(
      fc.property(anyWorker, (worker) => {
        const { worker: parsed, reason } = workerFromJson(JSON.parse(JSON.stringify(workerToJson(worker))));
        expect(reason).toBeUndefined();
        expect(parsed).toEqual(worker);
        expect(parsed !== undefined && equalWorkers(parsed, worker)).toBe(true);
      }),
    );
  });

  it("never throws, whatever is read", () => {
    const field = fc.oneof(fc.anything(), fc.constantFrom<unknown>("w1", "host:1", 1, true, [], {}));
    const almost = fc.record(
      {
        uid: field,
        address: field,
        pid: field,
        version: field,
        tags: field,
        extra: field,
        secure: field,
        channel: field,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(fc.anything(), almost), (value) => {
        const { worker, reason } = workerFromJson(value);
        if (worker === undefined) expect(reason).not.toBe("");
        else expect(workerFromJson(JSON.parse(JSON.stringify(workerToJson(worker)))).worker).toEqual(worker);
      }),
    );
  });

  it("has defaults for what may be left out, and ignores what it does not know", () => {
    expect(workerFromJson({ ...VALID, channel: { future: 1 }, future: true }).worker).toEqual({
      ...VALID,
      tags: new Set(),
      extra: {},
      secure: false,
      channel: {},
    });
  });

  it.each<[string, unknown]>([
    ["it is not an object", null],
    ["it is not an object", [VALID]],
    ["uid is not a non-empty string", { ...VALID, uid: "" }],
    ["address is not a string", { ...VALID, address: 1 }],
    ['address "nowhere" is neither', { ...VALID, address: "nowhere" }],
    ["pid is not a process id", { ...VALID, pid: -1 }],
    ["version is not a string", { ...VALID, version: 1 }],
    ["tags is not an array of strings", { ...VALID, tags: ["a", 1] }],
    ["extra is not an object of strings", { ...VALID, extra: { a: 1 } }],
    ["secure is not a boolean", { ...VALID, secure: "no" }],
    ["channel is not an object", { ...VALID, channel: 1 }],
    ["channel.threads is not a positive integer", { ...VALID, channel: { threads: 0 } }],
    ["channel.keepaliveTimeout is not a number of milliseconds", { ...VALID, channel: { keepaliveTimeout: "1" } }],
    ['channel.compression is neither "none" nor "gzip"', { ...VALID, channel: { compression: "br" } }],
    ["channel.maxMessageBytes is less than 131072", { ...VALID, channel: { maxMessageBytes: 4096 } }],
    ["languages is not an array of strings", { ...VALID, languages: "py" }],
  ])("says that %s", (reason, value) => {
    expect(workerFromJson(value)).toEqual({ worker: undefined, reason: expect.stringContaining(reason) });
  });
});

describe("equalWorkers", () => {
  const worker: WorkerMetadata = {
    ...VALID,
    tags: new Set(["a", "b"]),
    extra: { x: "1", y: "2" },
    secure: false,
    channel: { threads: 1, maxConcurrency: 2 },
  };

  it("does not mind the order of things", () => {
    const reordered: WorkerMetadata = {
      ...worker,
      tags: new Set(["b", "a"]),
      extra: { y: "2", x: "1" },
      channel: { maxConcurrency: 2, threads: 1 },
    };
    expect(equalWorkers(worker, reordered)).toBe(true);
  });

  it.each<[string, Partial<WorkerMetadata>]>([
    ["uid", { uid: "w2" }],
    ["address", { address: "host:1" }],
    ["pid", { pid: 8 }],
    ["version", { version: "2" }],
    ["tags", { tags: new Set(["a"]) }],
    ["extra", { extra: { x: "1" } }],
    ["secure", { secure: true }],
    ["channel", { channel: { threads: 2, maxConcurrency: 2 } }],
  ])("minds a different %s", (_field, change) => {
    expect(equalWorkers(worker, { ...worker, ...change })).toBe(false);
  });
});

describe("checkWorker", () => {
  it("says what is wrong", () => {
    const worker: WorkerMetadata = { ...VALID, tags: new Set(), extra: {}, secure: false, channel: {} };
    expect(checkWorker(worker)).toBe(worker);
    expect(() => checkWorker({ ...worker, pid: 1.5 })).toThrow(InvalidArgument);
    expect(() => checkWorker({ ...worker, address: "nowhere" })).toThrow('address "nowhere" is neither');
    // @ts-expect-error An array is how tags are written, not how they are held.
    expect(() => checkWorker({ ...worker, tags: [] })).toThrow("tags are a Set");
  });
});
