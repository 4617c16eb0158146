import { basename } from "node:path";
import * as _ from "lodash";
import lodash, { chunk } from "lodash";
import { routine, WorkerPool } from "wool-ts";
import Money, { NoMoney, setFoodRate, taxes } from "./money";
import * as all from "./tax";
import tax, { currency, rates, setCurrency, setFood } from "./tax";

const cases: Record<string, () => Promise<unknown>> = {
  default: routine(() => [tax(100), tax(100)]),
  class: routine(() => new Money(1).plus(new Money(2)).amount),
  data: routine(() => {
    setFood(6);
    return [rates.food, all.rates.food, taxes.rates.food];
  }),
  live: routine(() => {
    setCurrency("EUR");
    return [currency, all.currency];
  }),
  reexported: routine(() => {
    setFoodRate(7);
    return all.rates.food;
  }),
  lodash: routine(() => [_.chunk([1, 2, 3], 2), lodash.last([1, 2]), chunk([1], 1)]),
  builtin: routine(() => basename("/a/b.txt")),
  dynamic: routine(async () => {
    const again = await import("./tax.js");
    return [again.rates === rates, typeof again.setFood];
  }),
  instance: async () => (await routine(() => new Money(3))()) instanceof Money,
  argument: routine((money: Money) => money.plus(new Money(1)).amount).bind(undefined, new Money(1)),
  thrown: async () => {
    const fail = routine(() => {
      throw new NoMoney("none");
    });
    return await fail().catch((error: unknown) => [error instanceof NoMoney, error instanceof Error && error.message]);
  },
};

async function main(): Promise<void> {
  const pool = await WorkerPool.start({ size: 1 });
  try {
    const outcome: Record<string, unknown> = {};
    for (const [name, run] of Object.entries(cases)) outcome[name] = await run();
    process.stdout.write(`${JSON.stringify(outcome)}\n`);
  } finally {
    await pool.stop();
  }
}

void main();
