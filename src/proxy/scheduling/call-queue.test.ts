import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { makeCall, makeScheduler, numbers } from "../../../test/support/fake-workers.ts";
import type { Call } from "../../call/call.ts";
import { TaskCost } from "../../routine/task-cost.ts";
import { CallQueue } from "./call-queue.ts";

const { scheduler } = makeScheduler([]);
const calls = (count: number): Call[] => Array.from({ length: count }, () => makeCall(scheduler));

describe("CallQueue", () => {
  it("hands out the calls that were not withdrawn, in order, and counts them", () => {
    const action = fc.oneof(
      fc.record({ kind: fc.constant("push" as const), n: fc.integer({ min: 1, max: 2000 }) }),
      fc.record({ kind: fc.constant("take" as const), n: fc.nat(2000) }),
      fc.record({ kind: fc.constant("withdraw" as const), n: fc.nat() }),
      fc.record({ kind: fc.constant("withdraw most" as const), n: fc.integer({ min: 2, max: 9 }) }),
      fc.record({ kind: fc.constant("shift" as const), n: fc.constant(0) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 20 }), (actions) => {
        const queue = new CallQueue();
        let model: Call[] = [];
        for (const { kind, n } of actions) {
          if (kind === "push") {
            const made = calls(n);
            for (const call of made) queue.push(call);
            model.push(...made);
          } else if (kind === "take") {
            expect(numbers(queue.take(n))).toEqual(numbers(model.splice(0, n)));
          } else if (kind === "shift") {
            expect(queue.shift()).toBe(model.shift());
          } else if (kind === "withdraw") {
            const [call] = model.splice(n % Math.max(1, model.length), 1);
            if (call !== undefined) queue.withdraw(call);
          } else {
            for (const [i, call] of model.entries()) if (i % n !== 0) queue.withdraw(call);
            model = model.filter((_, i) => i % n === 0);
          }
          expect(queue.size).toBe(model.length);
        }
        expect(numbers(queue.take(queue.size))).toEqual(numbers(model));
      }),
      { numRuns: 100 },
    );
  });

  it("estimates a run by what its calls take together, and has none where a call takes long or was not measured", () => {
    const runOf = (...durations: (number | undefined)[]): number => {
      const queue = new CallQueue();
      for (const duration of durations) {
        const call = makeCall(scheduler);
        const cost = new TaskCost();
        if (duration !== undefined) cost.add(1, duration);
        call.route = { ...call.route, cost };
        queue.push(call);
      }
      return queue.run(200);
    };
    expect(runOf(2, 2, 2, 2)).toBe(100);
    // 24 us for two of them.
    expect(runOf(4, 20, 4, 20)).toBe(16);
    expect(runOf(2, 2, 200)).toBe(1);
    expect(runOf(2, 2, undefined)).toBe(1);
    expect(runOf()).toBe(1);
  });

  it("leaves alone a call that is not in it, or no more", () => {
    const queue = new CallQueue();
    const [first, second, stranger] = calls(3) as [Call, Call, Call];
    for (const call of [first, second]) queue.push(call);
    queue.withdraw(stranger);
    expect(queue.shift()).toBe(first);
    queue.withdraw(first);
    queue.withdraw(second);
    queue.withdraw(second);
    expect([queue.size, queue.shift()]).toEqual([0, undefined]);
  });

  it("withdraws each of many calls in the same small number of steps, whatever their order", () => {
    const orders: Record<string, (all: readonly Call[]) => readonly Call[]> = {
      forwards: (all) => all,
      backwards: (all) => [...all].reverse(),
      mixed: (all) => all.map((_, i) => all[(i * 7919) % all.length] as Call),
    };
    for (const order of Object.values(orders)) {
      const counts = [1000, 10_000].map((count) => {
        const queue = new CallQueue();
        let steps = 0;
        const watched = calls(count).map(
          (call) =>
            // The queue reads the place of a call whenever the call is pushed, found or moved.
            new Proxy(call, {
              get: (target, key) => {
                if (key === "place") steps++;
                return Reflect.get(target, key, target) as unknown;
              },
              set: (target, key, value) => {
                if (key === "place") steps++;
                return Reflect.set(target, key, value, target);
              },
            }),
        );
        for (const call of watched) queue.push(call);
        for (const call of order(watched)) queue.withdraw(call);
        expect(queue.size).toBe(0);
        return steps / count;
      });
      for (const steps of counts) expect(steps).toBeLessThan(8);
    }
  });
});
