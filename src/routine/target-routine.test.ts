import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { routine } from "./routine.ts";
import { routineSpecOf } from "./routine-registry.ts";

describe("routine.at", () => {
  it.each(["add", "", "py", "py:", ":add", "P:x", 7, undefined])("refuses %j, which names no function", (target) => {
    expect(() => routine.at(target as string)).toThrow(InvalidArgument);
    expect(() => routine.at(target as string)).toThrow(/such as "py:package.module:function"/);
  });

  it("has a route of its own, the same for all calls, with the language and the encoding", () => {
    const spec = routineSpecOf(routine.at("py:shop:add"));
    expect(spec?.route()).toMatchObject({
      target: "py:shop:add",
      language: "py",
      encoding: "json",
      name: "py:shop:add",
    });
    expect(spec?.route()).toBe(spec?.route());
    const own = routineSpecOf(routine.at("node:./shop.mjs#add"));
    expect(own?.route()).toMatchObject({ target: "node:./shop.mjs#add", language: "node" });
    expect(own?.route()).not.toHaveProperty("encoding");
  });

  it("takes options, and keeps what it is with others", () => {
    const named = routineSpecOf(routine.at("py:shop:add", { name: "sum" }).with({ name: "total", timeout: 5 }));
    expect(named?.route()).toMatchObject({ target: "py:shop:add", name: "total", encoding: "json" });
  });

  it("refuses options of code that travels", () => {
    const ship = { ship: "value" } as object;
    expect(() => routine.at("py:shop:add", ship)).toThrow(/option "ship" is for routines whose code travels/);
    const serializer = { dumps: () => new Uint8Array(0), loads: () => undefined };
    expect(() => routine.at("py:shop:add").with({ serializer })).toThrow(/option "serializer"/);
  });

  it("runs nowhere else: without a pool it says so", async () => {
    await expect(routine.at("py:shop:add")(1, 2)).rejects.toThrow(/there is no pool to call it through/);
    const stream = routine.at<() => AsyncGenerator<number>>("py:shop:count", { streams: true })();
    await expect(stream.next()).rejects.toThrow(/py:shop:count is a function that workers have/);
    await expect(routine.at("py:shop:add").local()).rejects.toThrow(InvalidArgument);
  });
});
