import { checkAnswer } from "../harness/closed-loop.mjs";

async function firstResult(open) {
  const began = performance.now();
  const contender = await open({ size: 2 });
  const result = await contender.add(1, 2);
  const value = performance.now() - began;
  await contender.close();
  checkAnswer(result === 3, "the first call");
  return { value };
}

export const points = [
  {
    name: "startup/first-result",
    title: "from nothing to the first result with 2 workers (node -e 0: two processes that only end)",
    unit: "ms",
    better: "less",
    contenders: ["wool", "piscina", "grpc", "ipc", "bare-node"],
    measureFresh: firstResult,
  },
];
