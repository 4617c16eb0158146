import { checkAnswer } from "../harness/closed-loop.mjs";

const ITEMS = 200_000;

async function mapAll(contender) {
  const from = performance.now();
  const sum = await contender.mapAll(ITEMS);
  checkAnswer(sum === (ITEMS * (ITEMS + 1)) / 2, "the sum of all results");
  return (ITEMS / (performance.now() - from)) * 1000;
}

/** Maps for as long as other points warm up: the engine has not optimized the code of the first maps. */
async function warmUp(contender, { durationMs }) {
  const end = performance.now() + durationMs;
  do await mapAll(contender);
  while (performance.now() < end);
}

export const points = [
  {
    name: "dispatch/map",
    title: `${ITEMS.toLocaleString("en")} trivial items through a map`,
    unit: "items/s",
    better: "more",
    contenders: ["wool-map", "wool-promise-all", "python-pool"],
    targets: { "wool-promise-all": 1, "python-pool": 1 },
    floors: { "wool-promise-all": 0.35 },
    warmUp,
    measure: async (contender) => ({ value: await mapAll(contender) }),
  },
];
