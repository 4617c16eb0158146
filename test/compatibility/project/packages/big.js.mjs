import Big from "big.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const amount = new Big("0.1");
const Rounded = Big();
Rounded.DP = 2;
const rounded = new Rounded(1);

void check({
  binding: () => routine(() => new Big("0.1").plus("0.2").toString())(),
  instance: () => routine(() => amount.times(3).eq("0.3"))(),
  "own constructor": () => routine(() => rounded.div(3).toString())(),
  argument: () => routine((it) => [it instanceof Big, it.toFixed(3)])(amount),
  result: async () => {
    const made = await routine(() => new Big(2).sqrt())();
    return [made instanceof Big, made.toFixed(5)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new Big("x"))());
    return [error instanceof Error, error.name, error.message];
  },
});
