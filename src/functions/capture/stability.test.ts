import { describe, expect, it } from "vitest";
import { continued, ended, resumed, running, shared } from "../fixtures/modules/makers.mjs";
import { dismantle } from "./dismantle.ts";
import { stability } from "./stability.ts";

type Read = () => number;

const travels = (read: Read): unknown => dismantle(read).parts[0];

describe("a variable that only the code that declares it assigns to", () => {
  it("is read again while that code runs, and not after that", () => {
    const seen: unknown[] = [];
    const read = running((each) => seen.push(travels(each), stability(each)));
    expect(seen).toEqual([1, "reread", 2, "reread"]);
    expect([travels(read), stability(read)]).toEqual([2, "constant"]);
    expect([travels(ended()), stability(ended(3))]).toEqual([1, "constant"]);
  });

  it("is read again while that code may be resumed", async () => {
    const steps = resumed();
    const read = steps.next().value ?? ended();
    expect([travels(read), stability(read)]).toEqual([1, "reread"]);
    steps.next();
    expect([travels(read), stability(read)]).toEqual([2, "reread"]);
    const waiting: Read[] = [];
    const done = continued((each) => waiting.push(each), Promise.resolve());
    const [first = ended()] = waiting;
    expect([travels(first), stability(first)]).toEqual([1, "reread"]);
    await done;
    expect([travels(first), stability(first)]).toEqual([2, "reread"]);
  });

  it("is read again if other code assigns to it, too", () => {
    const [read, raise] = shared();
    expect([stability(read), stability(raise)]).toEqual(["reread", "reread"]);
  });

  it("leaves the settings of stack traces as they are", () => {
    const before = [Error.stackTraceLimit, Object.hasOwn(Error, "prepareStackTrace"), Error.prepareStackTrace];
    stability(running());
    expect([Error.stackTraceLimit, Object.hasOwn(Error, "prepareStackTrace"), Error.prepareStackTrace]).toEqual(before);
  });
});
