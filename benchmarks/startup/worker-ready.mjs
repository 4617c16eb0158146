async function untilOpen(open) {
  const began = performance.now();
  const contender = await open({ size: 1 });
  const value = performance.now() - began;
  await contender.close();
  return { value };
}

export const points = [
  {
    name: "startup/worker-ready",
    title: "one worker process, from spawning it until it takes tasks",
    unit: "ms",
    better: "less",
    contenders: ["wool-worker", "bare-node"],
    targets: { "bare-node": 0.5 },
    measureFresh: untilOpen,
  },
];
