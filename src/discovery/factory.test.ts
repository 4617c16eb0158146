import { describe, expect, it, vi } from "vitest";
import { InvalidArgument } from "../errors.ts";
import type { DiscoveryLike } from "./discovery.ts";
import { type Factory, isDiscoveryLike, resolveDiscovery, resolveFactory } from "./factory.ts";
import { StaticDiscovery } from "./static-discovery.ts";

describe("resolveFactory", () => {
  const instance = { name: "it" };

  it.each<[string, Factory<typeof instance>]>([
    ["an instance", instance],
    ["a promise", Promise.resolve(instance)],
    ["a function", () => instance],
    ["an async function", async () => instance],
  ])("takes %s", async (_kind, factory) => {
    const resolved = await resolveFactory(factory);
    expect(resolved.value).toBe(instance);
    await resolved.dispose();
  });

  it("disposes once of what the factory made, asynchronously where it can", async () => {
    const asyncDispose = vi.fn(() => Promise.resolve());
    const dispose = vi.fn();
    const both = { [Symbol.asyncDispose]: asyncDispose, [Symbol.dispose]: dispose };
    const resolved = await resolveFactory(() => Promise.resolve(both));
    await Promise.all([resolved.dispose(), resolved.dispose()]);
    expect(asyncDispose).toHaveBeenCalledTimes(1);
    expect(dispose).not.toHaveBeenCalled();

    const plain = await resolveFactory({ [Symbol.dispose]: dispose });
    await plain.dispose();
    expect(dispose).toHaveBeenCalledTimes(1);
  });

  it("disposes of the factory after the value, also when the value resists", async () => {
    const order: string[] = [];
    const value = {
      [Symbol.dispose]: () => {
        order.push("value");
        throw new Error("stuck");
      },
    };
    const factory = Object.assign(() => value, { [Symbol.asyncDispose]: async () => void order.push("factory") });
    const resolved = await resolveFactory(factory);
    await expect(resolved.dispose()).rejects.toThrow("stuck");
    expect(order).toEqual(["value", "factory"]);
  });

  it("passes on what the factory throws, and disposes of the factory", async () => {
    const dispose = vi.fn();
    const factory = Object.assign(() => Promise.reject(new Error("no luck")), { [Symbol.dispose]: dispose });
    await expect(resolveFactory(factory)).rejects.toThrow("no luck");
    expect(dispose).toHaveBeenCalledTimes(1);
    await expect(resolveFactory(Promise.reject(new Error("rejected")))).rejects.toThrow("rejected");
  });

  it("explains what it cannot use", async () => {
    await expect(resolveFactory(StaticDiscovery)).rejects.toThrow(
      /StaticDiscovery.* is a class: give an instance of it, or a function that returns one/,
    );
    const empty: () => object = vi.fn();
    await expect(resolveFactory(empty)).rejects.toThrow("returned undefined: give an object");
    // @ts-expect-error Not a factory at all.
    await expect(resolveFactory("local:x")).rejects.toThrow(InvalidArgument);
  });
});

describe("resolveDiscovery", () => {
  it("takes anything that can be subscribed to", async () => {
    const discovery = new StaticDiscovery([]);
    expect((await resolveDiscovery(() => discovery)).value).toBe(discovery);
    expect(isDiscoveryLike(discovery)).toBe(true);
  });

  it.each<[string, object]>([
    ["no method subscribe", {}],
    ["no method subscribe", { subscribe: 1 }],
    ["its publisher has no method publish", { subscribe() {}, publisher: {} }],
    ["its publisher has no method publish", { subscribe() {}, publisher: null }],
  ])("says that a value has %s", async (problem, value) => {
    const dispose = vi.fn();
    const candidate = Object.assign(value, { [Symbol.dispose]: dispose });
    // @ts-expect-error It lacks what makes a discovery.
    const factory: Factory<DiscoveryLike> = candidate;
    await expect(resolveDiscovery(factory)).rejects.toThrow(problem);
    expect(isDiscoveryLike(value)).toBe(false);
    expect(dispose).toHaveBeenCalledTimes(1);
  });
});
