import Long from "long";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const large = Long.fromString("9223372036854775807");

void check({
  binding: () =>
    routine(() =>
      Long.fromNumber(2 ** 40)
        .multiply(3)
        .toString(),
    )(),
  instance: () => routine(() => [large.add(1).toString(), large.equals(Long.MAX_VALUE), Long.isLong(large)])(),
  argument: () => routine((it) => [it instanceof Long, it.shiftRight(60).toNumber()])(large),
  result: async () => {
    const made = await routine(() => Long.fromBits(1, 2, true))();
    return [made instanceof Long, made.unsigned, made.toString()];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => large.divide(0))());
    return [error instanceof Error, error.message];
  },
});
