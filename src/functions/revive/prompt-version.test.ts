import { describe, expect, it } from "vitest";
import { functionPort, ValueDecoder, ValueEncoder } from "../../values/index.ts";
import { type AnyFunction, acceptDependency } from "../index.ts";
import { promptVersion } from "./prompt-version.ts";

type Callable = (...args: unknown[]) => unknown;

/** A copy of the function, as a call brings it to a worker. */
function copyOf(fn: AnyFunction): Callable {
  const encoder = new ValueEncoder(functionPort());
  const bytes = Uint8Array.from(encoder.encode(fn));
  for (const dependency of encoder.dependencies) void acceptDependency(dependency);
  return new ValueDecoder(functionPort({ isCall: true, isCaptured: true })).decode(bytes) as Callable;
}

function promptCopyOf(fn: AnyFunction): Callable {
  const prompt = promptVersion(copyOf(fn));
  if (prompt === undefined) throw new Error(`there is no prompt version of ${fn.name}`);
  return prompt as Callable;
}

const table = { factor: 3 };

describe("the prompt version of an async function", () => {
  it("returns its value instead of a promise, with what it captured", () => {
    const times = async (n: number): Promise<number> => n * table.factor;
    expect(promptCopyOf(times)(5)).toBe(15);
    expect(promptCopyOf(times).name).toBe("times");
  });

  it("throws, also while it reads its parameters", () => {
    const odd = async (n: number): Promise<never> => {
      throw new RangeError(`odd ${n}`);
    };
    const strict = async ({ n }: { n: number }): Promise<number> => n;
    expect(() => promptCopyOf(odd)(1)).toThrow(new RangeError("odd 1"));
    expect(() => promptCopyOf(strict)(undefined)).toThrow(TypeError);
  });

  it("has the same lines in stack traces", () => {
    const where = async (): Promise<string | undefined> => new Error("here").stack?.split("\n")[1];
    const line = /prompt-version\.test\.ts:\d+:\d+/.exec(String(promptCopyOf(where)()))?.[0];
    const copied = copyOf(where)() as Promise<string | undefined>;
    return expect(copied).resolves.toContain(line);
  });

  it("knows the function itself as the async one", async () => {
    const sum = async (n: number): Promise<number> => (n === 0 ? 0 : sum(n - 1).then((rest) => n + rest));
    expect(await promptCopyOf(sum)(4)).toBe(10);
  });

  it("returns promises and other awaitable objects as they are", async () => {
    const later = async (n: number): Promise<number> => new Promise((resolve) => setImmediate(resolve, n));
    expect(promptCopyOf(later)(7)).toBeInstanceOf(Promise);
    expect(await promptCopyOf(later)(7)).toBe(7);
  });

  it("exists only where it makes no difference", () => {
    const waits = async (n: number): Promise<number> => (await Promise.resolve(n)) + 1;
    const plain = (n: number): number => n + 1;
    expect([waits, plain, waits.bind(undefined)].map((fn) => promptVersion(copyOf(fn)))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    // It was not revived here.
    expect(promptVersion(async () => 1)).toBeUndefined();
  });
});
