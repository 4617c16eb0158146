import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputRelay } from "./output-relay.ts";

/** Sends chunks through a relay. Gives what came out, and the end that it kept. */
async function relay(chunks: readonly (string | Uint8Array)[], name = "w"): Promise<{ out: string; tail: string }> {
  const [source, target] = [new PassThrough(), new PassThrough()];
  const passed = new OutputRelay(source, target, name);
  for (const chunk of chunks) source.write(chunk);
  source.end();
  await passed.ended;
  const out: unknown = target.read();
  return { out: out instanceof Buffer ? out.toString("utf8") : "", tail: passed.tail };
}

describe("OutputRelay", () => {
  it("puts the name in front of each line", async () => {
    const { out, tail } = await relay(["one\ntwo\n\nfour\n"], "w-1");
    expect(out).toBe("[w-1] one\n[w-1] two\n[w-1] \n[w-1] four\n");
    expect(tail).toBe("one\ntwo\n\nfour");
  });

  it("waits for the end of a line, and ends the last one itself", async () => {
    const [source, target] = [new PassThrough(), new PassThrough()];
    const passed = new OutputRelay(source, target, "w");
    source.write("par");
    source.write("tial");
    await new Promise((resolve) => setImmediate(resolve));
    expect(target.read()).toBeNull();
    source.end();
    await passed.ended;
    expect(String(target.read())).toBe("[w] partial\n");
    expect(passed.tail).toBe("partial");
  });

  it("says nothing when nothing was said", async () => {
    expect(await relay([])).toEqual({ out: "", tail: "" });
  });

  it("however its source is cut, also within a character, the same comes out", async () => {
    const text = fc.string({ unit: fc.constantFrom("a", "ä", "€", "𝄞", "👩‍👧", "\n", " ") });
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.integer({ min: 1, max: 5 })), async (whole, cuts) => {
        const bytes = Buffer.from(whole, "utf8");
        const chunks: Buffer[] = [];
        let at = 0;
        for (const cut of cuts) chunks.push(bytes.subarray(at, (at += cut)));
        chunks.push(bytes.subarray(at));
        expect(await relay(chunks.filter(({ length }) => length > 0))).toEqual(
          await relay(bytes.length === 0 ? [] : [bytes]),
        );
      }),
      { numRuns: 60 },
    );
  });

  it("keeps the last lines only", async () => {
    const lines = Array.from({ length: 100 }, (_, i) => `line ${i}`);
    const { out, tail } = await relay([`${lines.join("\n")}\n`]);
    expect(out.split("\n")).toHaveLength(101);
    expect(tail).toBe(lines.slice(-40).join("\n"));
  });
});
