import { checkAnswer } from "../harness/closed-loop.mjs";

const CALLS = 100_000;

/** Milliseconds from the end of `CALLS` calls, aborted at once, to the result of the next call. */
async function nextAfterAbort(contender) {
  const controller = new AbortController();
  const burst = Array.from({ length: CALLS }, (_, i) => contender.addUntil(controller.signal, i, 1));
  const settled = Promise.allSettled(burst);
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await settled;
  const from = performance.now();
  checkAnswer((await contender.add(1, 2)) === 3, "the call after the aborted ones");
  return performance.now() - from;
}

export const points = [
  {
    name: "dispatch/aborted-burst",
    title: `a call right after ${CALLS.toLocaleString("en")} calls were aborted at once`,
    unit: "ms",
    better: "less",
    contenders: ["wool"],
    goals: { wool: 50 },
    warmUp: nextAfterAbort,
    measure: async (contender) => ({ value: await nextAfterAbort(contender) }),
  },
];
