import { describe, expect, it } from "vitest";
import { LaterTurns, TimeSlice } from "./later-turns.ts";

const owner = () => ({ party: {} });
const turnOfEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Keeps the thread busy for longer than a slice. */
function work(slice: TimeSlice): void {
  while (!slice.isOver);
}

describe("LaterTurns", () => {
  it("lets owners take turns, in later turns of the event loop", async () => {
    const later = new LaterTurns(new TimeSlice());
    const order: string[] = [];
    const [greedy, polite] = [owner(), owner()];
    for (let i = 0; i < 3; i++) later.wait(greedy, () => order.push("greedy"));
    later.wait(polite, () => order.push("polite"));
    expect(order).toEqual([]);
    while (order.length < 4) await turnOfEventLoop();
    expect(order).toEqual(["greedy", "polite", "greedy", "greedy"]);
  });

  it("gives the event loop a turn when a slice is over, however many wait", async () => {
    const slice = new TimeSlice();
    const later = new LaterTurns(slice);
    let done = 0;
    for (let i = 0; i < 5; i++) {
      later.wait(owner(), () => {
        work(slice);
        done++;
      });
    }
    const seen: number[] = [];
    while (done < 5) {
      await turnOfEventLoop();
      seen.push(done);
    }
    expect(seen.every((count, i) => count - (seen[i - 1] ?? 0) <= 1)).toBe(true);
  });

  it("has promises of one settle before the next one goes on", async () => {
    const later = new LaterTurns(new TimeSlice());
    const order: string[] = [];
    const goes = (name: string) => async (): Promise<void> => {
      for (let i = 0; i < 10; i++) await Promise.resolve();
      order.push(name);
    };
    for (const name of ["first", "second"]) later.wait(owner(), () => void goes(name)().then(() => order.push("end")));
    while (order.length < 4) await turnOfEventLoop();
    expect(order).toEqual(["first", "end", "second", "end"]);
  });

  it("lets nobody go on after the time that one has used in promises", async () => {
    const slice = new TimeSlice();
    const later = new LaterTurns(slice);
    const order: string[] = [];
    later.wait(owner(), () => {
      void Promise.resolve().then(() => {
        work(slice);
        setImmediate(() => order.push("event loop"));
      });
    });
    later.wait(owner(), () => order.push("second"));
    while (order.length < 2) await turnOfEventLoop();
    expect(order).toEqual(["event loop", "second"]);
  });

  it("lets one that waits again go on after the event loop has had a turn", async () => {
    const later = new LaterTurns(new TimeSlice());
    const only = owner();
    let rounds = 0;
    const again = (): void => {
      if (++rounds < 3) later.wait(only, again);
    };
    later.wait(only, again);
    const seen: number[] = [];
    while (rounds < 3) {
      await turnOfEventLoop();
      seen.push(rounds);
    }
    expect(seen).toEqual(expect.arrayContaining([1, 2, 3]));
  });
});
