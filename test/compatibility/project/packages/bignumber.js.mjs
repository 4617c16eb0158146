import { BigNumber } from "bignumber.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const price = new BigNumber("0.1");
const Coarse = BigNumber.clone({ DECIMAL_PLACES: 3 });

void check({
  binding: () => routine(() => new BigNumber("0.1").plus("0.2").toString())(),
  instance: () => routine(() => price.plus("0.2").toString())(),
  clone: () => routine(() => new Coarse(1).div(3).toString())(),
  argument: () => routine((it) => [BigNumber.isBigNumber(it), it instanceof BigNumber, it.times(3).toString()])(price),
  result: async () => {
    const made = await routine(() => new BigNumber(2).sqrt())();
    return [made instanceof BigNumber, made.toFixed(5)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new BigNumber(1).toFixed(2, 99))());
    return [error instanceof Error, error.message];
  },
});
