import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LocalDiscovery, StaticDiscovery, type WorkerMetadata } from "../../discovery/index.ts";
import { UnexpectedResponse } from "../../errors.ts";
import { discoveryFor, makePoolReference, type PoolAddress, readPoolAddress } from "./pool-address.ts";

const worker: fc.Arbitrary<WorkerMetadata> = fc.record({
  uid: fc.string({ minLength: 1 }),
  address: fc.integer({ min: 1, max: 65_535 }).map((port) => `10.0.0.1:${port}`),
  pid: fc.nat(),
  version: fc.string(),
  tags: fc.array(fc.string()).map((tags) => new Set(tags)),
  extra: fc.dictionary(fc.string(), fc.string(), { noNullPrototype: true }),
  secure: fc.boolean(),
  channel: fc.constantFrom({}, { threads: 2 }),
});

describe("a pool address", () => {
  it("arrives as it was", () => {
    const local = fc.record({
      kind: fc.constant("local" as const),
      namespace: fc.string(),
      directory: fc.option(fc.string(), { nil: undefined }),
    });
    const fixed = fc.record({ kind: fc.constant("static" as const), workers: fc.array(worker) });
    fc.assert(
      fc.property(fc.oneof(local, fixed), (address: PoolAddress) => {
        expect(readPoolAddress(makePoolReference(address).description)).toEqual(address);
      }),
    );
  });

  it("has a number of its own each time it is made", () => {
    const address: PoolAddress = { kind: "local", namespace: "n", directory: undefined };
    const numbers = [makePoolReference(address), makePoolReference(address), makePoolReference(address)].map(
      ({ number }) => number,
    );
    expect(new Set(numbers).size).toBe(3);
    expect(numbers).not.toContain(0);
  });

  it.each([
    "null",
    "5",
    "[]",
    "{}",
    '{"kind":"local"}',
    '{"kind":"local","namespace":5}',
    '{"kind":"static","workers":{}}',
    '{"kind":"remote","namespace":"n"}',
    "not json",
    "",
  ])("that is %s is refused", (text) => {
    expect(() => readPoolAddress(Buffer.from(text))).toThrow(UnexpectedResponse);
  });

  it("leaves out workers that it cannot read", () => {
    const [good] = fc.sample(worker, 1);
    if (good === undefined) throw new Error("no worker");
    const json = JSON.parse(Buffer.from(makePoolReference({ kind: "static", workers: [good] }).description).toString());
    json.workers.push({ uid: 5 }, null);
    expect(readPoolAddress(Buffer.from(JSON.stringify(json)))).toEqual({ kind: "static", workers: [good] });
  });

  it("becomes a discovery", () => {
    expect(discoveryFor({ kind: "static", workers: [] })).toBeInstanceOf(StaticDiscovery);
    const local = discoveryFor({ kind: "local", namespace: "n", directory: "/somewhere" });
    expect(local).toBeInstanceOf(LocalDiscovery);
    expect(local).toMatchObject({ namespace: "n", directory: "/somewhere" });
  });
});
