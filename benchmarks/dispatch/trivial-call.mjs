import { closedLoop } from "../harness/closed-loop.mjs";

const loop = (concurrency, durationMs, contender) =>
  closedLoop({
    concurrency,
    durationMs,
    call: (i) => contender.add(i, 1),
    check: (result, i) => result === i + 1,
  });

const point = (concurrency, targets, floors) => ({
  name: `dispatch/add-${concurrency}`,
  title: `add two numbers, ${concurrency} in flight`,
  unit: "calls/s",
  better: "more",
  contenders: ["wool", "piscina", "piscina-tuned", "grpc", "ipc"],
  targets,
  floors,
  warmUp: (contender, { durationMs }) => loop(concurrency, durationMs, contender),
  measure: (contender, { durationMs }) => loop(concurrency, durationMs, contender),
});

export const points = [
  point(1, { piscina: 0.9 }),
  point(100, { piscina: 8, "piscina-tuned": 4, grpc: 40, ipc: 1.5 }, { piscina: 2.5, grpc: 12, ipc: 0.5 }),
  point(1000, { piscina: 20, "piscina-tuned": 10 }),
  {
    ...point(400, { wool: 0.5 }),
    name: "dispatch/crowd",
    title: "add two numbers, 400 in flight, with 40 workers and with 2",
    contenders: ["wool-crowd", "wool"],
    warmUp: (contender) => loop(400, 5000, contender),
  },
];
