import { setImmediate as turn } from "node:timers/promises";
import { Script } from "node:vm";
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
    expect(new ContextVar("b", { default: undefined }).get()).toBeUndefined();
    const unset = new ContextVar("user 2");
    expect(() => unset.get()).toThrow(InvalidArgument);
    expect(() => unset.get()).toThrow(/"user 2" has no value here.*run\(value, fn\).*\{ default \}/);
  });

  it("has the value of the innermost scope, and the one before after it", () => {
    const user = new ContextVar("user 3", { default: "nobody" });
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
    const user = new ContextVar<string | undefined>("user 4", { default: "nobody" });
    expect(user.run(undefined, () => user.get())).toBeUndefined();
  });

  it("is left when the function throws", () => {
    const user = new ContextVar("user 5", { default: "nobody" });
    expect(() =>
      user.run("ann", () => {
        throw new RangeError("x");
      }),
    ).toThrow(RangeError);
    expect(user.get()).toBe("nobody");
  });

  it("follows asynchronous code, each its own", async () => {
    const user = new ContextVar<number>("user 6");
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

  it("is told apart by its namespace", () => {
    const plain = new ContextVar("id", { default: "none" });
    const a = new ContextVar("id", { namespace: "a", default: "none" });
    const b = new ContextVar("id", { namespace: "b", default: "none" });
    plain.run("plain", () =>
      a.run("in a", () => {
        expect([plain, a, b].map((variable) => variable.get())).toEqual(["plain", "in a", "none"]);
      }),
    );
  });

  it("is the same variable when its declaration is evaluated again", () => {
    const declare = () => new ContextVar("again", { default: "none" });
    const [first, second] = [declare(), declare()];
    expect(first.run("set", () => second.get())).toBe("set");
  });

  it("cannot be declared at two places: the error names both", () => {
    const [first, second] = [() => new ContextVar("twice"), () => new ContextVar("twice")];
    first();
    expect(second).toThrow(InvalidArgument);
    expect(second).toThrow(
      /"twice" is declared twice, at .*context-var\.test\.ts:\d+:\d+ and at .*context-var\.test\.ts:\d+:\d+: .*import it/,
    );
    expect(() => new ContextVar("id", { namespace: "a" })).toThrow(/"id" of namespace "a" is declared twice/);
  });

  it("belongs to the package that declares it", () => {
    const inFile = (file: string): ContextVar<unknown> => {
      const declare = new Script('() => new ContextVar("owner")', {
        filename: file,
      }).runInThisContext() as () => unknown;
      return Reflect.apply(declare, undefined, []) as ContextVar<unknown>;
    };
    Reflect.set(globalThis, "ContextVar", ContextVar);
    try {
      const root = process.cwd();
      expect(inFile(`${root}/node_modules/left/index.js`).namespace).toBe("left");
      expect(inFile(`${root}/node_modules/@right/side/lib/a.js`).namespace).toBe("@right/side");
      expect(inFile(`${root}/node_modules/left/node_modules/inner/index.js`).namespace).toBe("inner");
      expect(inFile(`${root}/src/a.js`).namespace).toBe("");
      expect(() => inFile(`${root}/src/b.js`)).toThrow(
        /declared twice, at .*\/src\/a\.js:1:\d+ and at .*\/src\/b\.js:1/,
      );
    } finally {
      Reflect.deleteProperty(globalThis, "ContextVar");
    }
  });

  it("is not set by a context without variables", () => {
    const user = new ContextVar("user 8", { default: "nobody" });
    expect(user.run("ann", () => runInCallContext({}, () => user.get()))).toBe("nobody");
  });

  it("travels, with its default", () => {
    const original = new ContextVar("user 9", { namespace: "n", default: [1] });
    const arrived = decode(encode(original)) as typeof original;
    expect(arrived).toBeInstanceOf(ContextVar);
    expect(arrived).toMatchObject({ name: "user 9", namespace: "n" });
    expect(arrived.get()).toEqual([1]);
    expect(original.run([2], () => arrived.get())).toEqual([2]);
    expect(arrived.run([3], () => original.get())).toEqual([3]);
    const bare = decode(encode(new ContextVar("user 9"))) as ContextVar<unknown>;
    expect(() => bare.get()).toThrow(InvalidArgument);
  });
});
