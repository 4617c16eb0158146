import { getEventListeners } from "node:events";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { onAbort } from "./abort-listeners.ts";

describe("onAbort", () => {
  it("calls all that wait, in order, once", () => {
    const controller = new AbortController();
    const called: number[] = [];
    for (const i of [1, 2, 3]) onAbort(controller.signal, () => called.push(i));
    controller.abort();
    controller.abort();
    expect(called).toEqual([1, 2, 3]);
  });

  it("puts one listener on a signal, however many wait", () => {
    const { signal } = new AbortController();
    for (let i = 0; i < 100; i++) onAbort(signal, () => undefined);
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
  });

  it("calls exactly those that were not taken back", () => {
    fc.assert(
      fc.property(fc.array(fc.boolean()), (kept) => {
        const controller = new AbortController();
        const called: number[] = [];
        const undos = kept.map((_, i) => onAbort(controller.signal, () => called.push(i)));
        for (const [i, keep] of kept.entries()) if (!keep) undos[i]?.();
        controller.abort();
        expect(called).toEqual([...kept.keys()].filter((i) => kept[i]));
      }),
    );
  });

  it("one callback may take back its own, and others may come after all have gone", () => {
    const controller = new AbortController();
    const called: string[] = [];
    const undo = onAbort(controller.signal, () => called.push("gone"));
    undo();
    undo();
    const own = onAbort(controller.signal, () => {
      called.push("own");
      own();
    });
    onAbort(controller.signal, () => called.push("last"));
    controller.abort();
    expect(called).toEqual(["own", "last"]);
  });

  it("keeps signals apart", () => {
    const [a, b] = [new AbortController(), new AbortController()];
    const called: string[] = [];
    const callback = () => called.push("called");
    onAbort(a.signal, callback);
    onAbort(b.signal, callback);
    a.abort();
    expect(called).toEqual(["called"]);
    b.abort();
    expect(called).toEqual(["called", "called"]);
  });
});
