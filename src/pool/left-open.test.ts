import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

const written = vi.hoisted(() => [] as string[]);

vi.mock("node:fs", async (original) => ({
  ...(await original<typeof import("node:fs")>()),
  writeSync: (descriptor: number, text: string) => {
    written.push(`${descriptor} ${text}`);
    return text.length;
  },
}));

const { warnIfLeftOpen } = await import("./left-open.ts");

/** Does what the end of the process does, for the listeners that were added since. */
function exit(before: readonly unknown[]): void {
  for (const listener of process.listeners("exit")) if (!before.includes(listener)) listener(0);
}

describe("warnIfLeftOpen", () => {
  let before: readonly unknown[] = [];
  const { exitCode } = process;

  beforeEach(() => {
    written.length = 0;
    before = process.listeners("exit");
  });
  afterEach(() => {
    process.exitCode = exitCode;
  });

  it("tells a program that ends with a pool open, on stderr", () => {
    const forget = warnIfLeftOpen(3);
    exit(before);
    forget();
    expect(written).toHaveLength(1);
    expect(written[0]).toMatch(/^2 wool-ts: .*pool of 3 workers.*await pool\.stop\(\).*await using.*\n$/);
  });

  it("does not say that workers have ended that others started", () => {
    const forget = warnIfLeftOpen(0);
    exit(before);
    forget();
    expect(written).toEqual([
      expect.stringMatching(
        /^2 wool-ts: the program ended with a pool open; its workers, which it did not start, go on\. Stop/,
      ),
    ]);
  });

  it("says nothing once the pool was stopped", () => {
    warnIfLeftOpen(3)();
    exit(before);
    expect(written).toEqual([]);
    expect(process.listeners("exit")).toEqual(before);
  });

  it("says nothing in a program that has failed: it has other worries", () => {
    const forget = warnIfLeftOpen(3);
    process.exitCode = 1;
    exit(before);
    forget();
    expect(written).toEqual([]);
  });
});
