import Fraction from "fraction.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const third = new Fraction(1, 3);

void check({
  binding: () => routine(() => new Fraction("0.(3)").add("1/6").toFraction())(),
  instance: () => routine(() => third.mul(3).equals(1))(),
  argument: () => routine((it) => [it instanceof Fraction, it.add(1).toFraction(true)])(third),
  result: async () => {
    const made = await routine(() => third.inverse())();
    return [made instanceof Fraction, made.n, made.toString()];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => new Fraction(1, 0))());
    return [error instanceof Error, error.name, error.message];
  },
});
