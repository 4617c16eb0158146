import { closedLoop } from "../harness/closed-loop.mjs";

const loop = (concurrency, durationMs, contender) =>
  closedLoop({
    concurrency,
    durationMs,
    call: (i) => contender.add(i, 1),
    check: (result, i) => result === i + 1,
  });

const OTHERS = ["piscina", "piscina-tuned", "grpc", "ipc"];

const point = (concurrency, targets, others = OTHERS, name = "add") => ({
  name: `dispatch/${name}-${concurrency}`,
  title: `add two numbers, ${concurrency} in flight`,
  unit: "calls/s",
  better: "more",
  contenders: ["wool", ...others],
  targets,
  warmUp: (contender, { durationMs }) => loop(concurrency, durationMs, contender),
  measure: (contender, { durationMs }) => loop(concurrency, durationMs, contender),
});

export const points = [
  point(1, { piscina: 0.9 }),
  {
    ...point(100, { piscina: 8, "piscina-tuned": 4, grpc: 40, ipc: 1.5 }),
    floors: { piscina: 2.5, grpc: 12, ipc: 0.5 },
  },
  point(1000, { piscina: 20, "piscina-tuned": 10 }),
  {
    ...point(400, { wool: 0.5 }),
    name: "dispatch/crowd",
    title: "add two numbers, 400 in flight, with 40 workers and with 2",
    contenders: ["wool-crowd", "wool"],
    warmUp: (contender) => loop(400, 5000, contender),
  },
];
