import { checkAnswer } from "../harness/closed-loop.mjs";

const ITEMS = 200_000;

async function mapAll(contender) {
  const from = performance.now();
  const sum = await contender.mapAll(ITEMS);
  checkAnswer(sum === (ITEMS * (ITEMS + 1)) / 2, "the sum of all results");
  return (ITEMS / (performance.now() - from)) * 1000;
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
    warmUp: mapAll,
    measure: async (contender) => ({ value: await mapAll(contender) }),
  },
];
