import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { InvalidArgument } from "../errors.ts";
import { runInCallContext } from "../routine/call-context.ts";
import { decode, encode } from "../values/index.ts";
import { ContextVar } from "./context-var.ts";

describe("ContextVar", () => {
  it("needs a name", () => {
    for (const name of ["", 5, undefined, null]) {
      expect(() => new ContextVar(name as string)).toThrow(InvalidArgument);
    }
  });

  it("gives its default, which may be undefined, else says what to do", () => {
    expect(new ContextVar("a", { default: 5 }).get()).toBe(5);
    expect(new ContextVar("a", { default: undefined }).get()).toBeUndefined();
    expect(() => new ContextVar("user").get()).toThrow(InvalidArgument);
    expect(() => new ContextVar("user").get()).toThrow(/"user" has no value here.*run\(value, fn\).*\{ default \}/);
  });

  it("has the value of the innermost scope, and the one before after it", () => {
    const user = new ContextVar("user", { default: "nobody" });
    const seen: string[] = [];
    const result = user.run("ann", () => {
      seen.push(user.get());
      user.run("bob", () => seen.push(user.get()));
      seen.push(user.get());
      return "result";
    });
    expect([...seen, user.get(), result]).toEqual(["ann", "bob", "ann", "nobody", "result"]);
  });

  it("may be set to undefined, whatever its default", () => {
    const user = new ContextVar<string | undefined>("user", { default: "nobody" });
    expect(user.run(undefined, () => user.get())).toBeUndefined();
  });

  it("is left when the function throws", () => {
    const user = new ContextVar("user", { default: "nobody" });
    expect(() =>
      user.run("ann", () => {
        throw new RangeError("x");
      }),
    ).toThrow(RangeError);
    expect(user.get()).toBe("nobody");
  });

  it("follows asynchronous code, each its own", async () => {
    const user = new ContextVar<number>("user");
    const seen = await Promise.all(
      [1, 2, 3].map((value) =>
        user.run(value, async () => {
          await turn();
          return user.get();
        }),
      ),
    );
    expect(seen).toEqual([1, 2, 3]);
  });

  it("is the same variable as another of its name and namespace, and no other", () => {
    const plain = new ContextVar("id", { default: "none" });
    const same = new ContextVar("id", { default: "other default" });
    const a = new ContextVar("id", { namespace: "a", default: "none" });
    const b = new ContextVar("id", { namespace: "b", default: "none" });
    plain.run("plain", () =>
      a.run("in a", () => {
        expect([plain, same, a, b].map((variable) => variable.get())).toEqual(["plain", "plain", "in a", "none"]);
        expect(new ContextVar("id", { namespace: "a" }).get()).toBe("in a");
      }),
    );
  });

  it("is not set by a context without variables", () => {
    const user = new ContextVar("user", { default: "nobody" });
    expect(user.run("ann", () => runInCallContext({}, () => user.get()))).toBe("nobody");
  });

  it("travels, with its default", () => {
    const original = new ContextVar("user", { namespace: "n", default: [1] });
    const arrived = decode(encode(original)) as typeof original;
    expect(arrived).toBeInstanceOf(ContextVar);
    expect(arrived).toMatchObject({ name: "user", namespace: "n" });
    expect(arrived.get()).toEqual([1]);
    expect(original.run([2], () => arrived.get())).toEqual([2]);
    expect(arrived.run([3], () => original.get())).toEqual([3]);
    const bare = decode(encode(new ContextVar("user"))) as ContextVar<unknown>;
    expect(() => bare.get()).toThrow(InvalidArgument);
  });
});
