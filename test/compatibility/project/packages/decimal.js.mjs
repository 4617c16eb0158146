import { Decimal } from "decimal.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const price = new Decimal("0.1");
const Coarse = Decimal.clone({ precision: 4 });

void check({
  binding: () => routine(() => new Decimal("0.1").plus("0.2").toString())(),
  instance: () => routine(() => price.plus("0.2").toString())(),
  clone: () => routine(() => new Coarse(1).div(3).toString())(),
  argument: () => routine((it) => [Decimal.isDecimal(it), it instanceof Decimal, it.times(3).toString()])(price),
  result: async () => {
    const made = await routine(() => new Decimal(2).sqrt())();
    return [made instanceof Decimal, made.toFixed(5)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new Decimal("x"))());
    return [error instanceof Error, error.message];
  },
});
