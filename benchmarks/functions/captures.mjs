import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { checkAnswer } from "../harness/closed-loop.mjs";
import { median } from "../harness/statistics.mjs";

const BATCH = 50;

/** How long the first call of a program blocks it: taking the function apart, and everything needed for that. */
async function firstCapture(open) {
  const contender = await open();
  const began = performance.now();
  const result = contender.runFresh(7);
  const value = performance.now() - began;
  checkAnswer((await result) === 7, "the first function");
  await contender.close();
  return { value };
}

/** The same for later ones, as the median. */
async function laterCaptures(contender, { durationMs }) {
  const times = [];
  const end = performance.now() + durationMs;
  for (let i = 0; performance.now() < end; i += BATCH) {
    const results = [];
    for (let k = 0; k < BATCH; k++) {
      const began = performance.now();
      results.push(contender.runFresh(i + k));
      times.push(performance.now() - began);
    }
    for (const [k, result] of (await Promise.all(results)).entries())
      checkAnswer(result === i + k, `function ${i + k}`);
  }
  return { value: median(times) };
}

async function capture(contender, from, count) {
  for (let i = from; i < from + count; i += BATCH) {
    const results = await Promise.all(Array.from({ length: BATCH }, (_, k) => contender.runFresh(i + k)));
    for (const [k, result] of results.entries()) checkAnswer(result === i + k, `function ${i + k}`);
  }
}

/** How much memory 100,000 functions leave in the heap of the caller, in MB. */
async function growth(open, { quick }) {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc");
  const heapUsed = async () => {
    // Objects with a finalizer are freed one turn later than what they belong to.
    for (let i = 0; i < 3; i++) {
      collect();
      await new Promise((resolve) => setImmediate(resolve));
    }
    return process.memoryUsage().heapUsed / 1e6;
  };
  const contender = await open();
  // Tables of weak references grow until they hold what lives between two collections: 2.4 MB after 50,000, and no more later.
  const warmUp = quick ? 5000 : 50_000;
  await capture(contender, 0, warmUp);
  const before = await heapUsed();
  await capture(contender, warmUp, quick ? 10_000 : 100_000);
  const value = Math.max(0, (await heapUsed()) - before);
  await contender.close();
  return { value };
}

/** Counters with two functions each: one assigns to a shared variable, the other reads it. */
const counters = (count) =>
  Array.from({ length: count / 2 }, () => {
    let total = 0;
    return [
      () => {
        total += 1;
      },
      () => total,
    ];
  }).flat();

/** How long each of many closures that share variables blocks a call. */
const sharing = (count) =>
  async function shared(contender) {
    const closures = counters(count);
    const began = performance.now();
    const result = contender.countAll(closures);
    const value = (performance.now() - began) / count;
    checkAnswer((await result) === count, `${count} closures`);
    return { value };
  };

const sharingPoint = (count) => ({
  name: `functions/sharing-${count}`,
  title: `${count} closures that share variables in pairs: how long each of them holds up the call`,
  unit: "ms",
  better: "less",
  contenders: ["wool-captures"],
  goals: { "wool-captures": 0.5 },
  warmUp: sharing(10),
  measure: sharing(count),
});

/** How many awaits per second the process makes. */
async function awaits(_contender, { durationMs }) {
  const step = async (i) => i + 1;
  const began = performance.now();
  let count = 0;
  while (performance.now() - began < durationMs) {
    for (let k = 0; k < 1000; k++) count = await step(count);
  }
  return { value: (count / (performance.now() - began)) * 1000 };
}

export const points = [
  {
    name: "functions/first-capture",
    title: "the first function of a program that travels: how long its call takes to return a promise",
    unit: "ms",
    better: "less",
    contenders: ["wool-captures"],
    goals: { "wool-captures": 80 },
    measureFresh: firstCapture,
  },
  {
    name: "functions/later-captures",
    title: "the same for each new function after that",
    unit: "ms",
    better: "less",
    contenders: ["wool-captures"],
    goals: { "wool-captures": 0.2 },
    warmUp: laterCaptures,
    measure: laterCaptures,
  },
  ...[10, 100, 1000, 5000].map(sharingPoint),
  {
    name: "functions/growth",
    title: "what 100,000 of them leave in memory (10,000 with --quick)",
    unit: "MB",
    better: "less",
    rounds: 1,
    contenders: ["wool-captures"],
    goals: { "wool-captures": 1 },
    measureFresh: growth,
  },
  {
    name: "functions/awaits-afterwards",
    title: "awaits of a process that has shipped functions, against one that has not",
    unit: "awaits/s",
    better: "more",
    contenders: ["awaits-after-capture", "awaits"],
    targets: { awaits: 0.97 },
    warmUp: awaits,
    measure: awaits,
  },
];
