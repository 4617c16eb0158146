import { checkAnswer } from "../harness/closed-loop.mjs";

async function pull(contender, durationMs, prefetch) {
  let expected = 0;
  const began = performance.now();
  let elapsed = 0;
  for await (const item of contender.items(prefetch)) {
    checkAnswer(item === expected, `item ${expected}`);
    expected++;
    elapsed = performance.now() - began;
    if (elapsed >= durationMs) break;
  }
  return { value: (expected / elapsed) * 1000 };
}

export const points = [
  {
    name: "streams/pulled",
    title: "items of one stream, each asked for when the one before is there",
    unit: "items/s",
    better: "more",
    contenders: ["wool"],
    goals: { wool: 7_500 },
    warmUp: (contender, { durationMs }) => pull(contender, durationMs, 0),
    measure: (contender, { durationMs }) => pull(contender, durationMs, 0),
  },
  {
    name: "streams/prefetch-64",
    title: "items of one stream, the worker 64 ahead (grpc-js: as far as its flow control lets it)",
    unit: "items/s",
    better: "more",
    contenders: ["wool", "grpc"],
    goals: { wool: 362_000 },
    floors: { grpc: 0.4 },
    warmUp: (contender, { durationMs }) => pull(contender, durationMs, 64),
    measure: (contender, { durationMs }) => pull(contender, durationMs, 64),
  },
];
