import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { OutputRelay } from "./output-relay.ts";

/** Sends chunks through a relay. Returns the output, and the end that the relay kept. */
async function relay(chunks: readonly (string | Uint8Array)[], name = "w"): Promise<{ out: string; tail: string }> {
  const [source, target] = [new PassThrough(), new PassThrough()];
  const passed = new OutputRelay(source, target, name);
  for (const chunk of chunks) source.write(chunk);
  source.end();
  void passed.ended.then(() => target.end());
  return { out: await text(target), tail: passed.tail };
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
    const strings = fc.string({ unit: fc.constantFrom("a", "ä", "€", "𝄞", "👩‍👧", "\n", " ") });
    await fc.assert(
      fc.asyncProperty(strings, fc.array(fc.integer({ min: 1, max: 5 })), async (whole, cuts) => {
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

  it("cuts a line that does not end into pieces, at the same places however it comes", async () => {
    const whole = `${"x".repeat(64 * 1024 - 1)}${"𝄞".repeat(100_000)}`;
    const { out } = await relay([whole]);
    const lines = out.trimEnd().split("\n");
    expect(lines.map((line) => line.slice("[w] ".length)).join("") === whole).toBe(true);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual("[w] ".length + 64 * 1024);
    const bytes = Buffer.from(whole, "utf8");
    const chunks = Array.from({ length: Math.ceil(bytes.length / 1001) }, (_, i) =>
      bytes.subarray(i * 1001, (i + 1) * 1001),
    );
    expect((await relay(chunks)).out === out).toBe(true);
  });

  it("passes pieces on before the line has ended", async () => {
    const [source, target] = [new PassThrough(), new PassThrough()];
    const passed = new OutputRelay(source, target, "w");
    const first = once(target, "data");
    source.write("x".repeat(70_000));
    const [piece] = (await first) as [Buffer];
    expect(piece.toString()).toMatch(/^\[w\] x+\n$/);
    source.end();
    target.resume();
    await passed.ended;
  });

  it("keeps a bounded part of long lines", async () => {
    const { tail } = await relay([`first\n${"x".repeat(1_000_000)}\n${"y".repeat(10_000)}\nlast\n`]);
    expect(tail.length).toBeLessThan(20_000);
    expect(tail).toMatch(/y{10000}\nlast$/);
  });
});
