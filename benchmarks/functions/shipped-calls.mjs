import { closedLoop } from "../harness/closed-loop.mjs";

const calls = (contender, { durationMs }) =>
  closedLoop({
    concurrency: 100,
    durationMs,
    call: (i) => contender.add(i, 1),
    check: (result, i) => result === i + 1,
  });

const point = (tier, title, target) => ({
  name: `functions/tier-${tier}`,
  title: `${title}, 100 in flight, against a function that workers import`,
  unit: "calls/s",
  better: "more",
  contenders: [`wool-tier-${tier}`, "wool-reference"],
  ...(target !== undefined && { targets: { "wool-reference": target } }),
  warmUp: calls,
  measure: calls,
});

export const points = [
  point(0, "code that travelled, with constants", 0.97),
  point(1, "code that travelled, with an object that could change", 0.5),
  point(2, "code that travelled, with a variable that is assigned to", 0.5),
];
