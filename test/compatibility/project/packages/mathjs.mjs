import { all, bignumber, create, evaluate, matrix, parse, typeOf, unit } from "mathjs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const table = matrix([
  [1, 2],
  [3, 4],
]);
const compiled = parse("2 * x").compile();
const math = create(all, { number: "BigNumber" });

void check({
  binding: () => routine(() => evaluate("sqrt(16) + 1"))(),
  instance: () => routine(() => (table.subset ? table.get([1, 1]) : undefined))(),
  compiled: () => routine(() => compiled.evaluate({ x: 4 }))(),
  "own instance": () => routine(() => math.evaluate("0.1 + 0.2").toString())(),
  argument: () => routine((it) => [typeOf(it), it.size()])(table),
  unit: () => routine((it) => it.toNumber("cm"))(unit(1, "m")),
  result: async () => {
    const made = await routine(() => matrix([1, 2]))();
    return [typeOf(made), made.isMatrix, made.toArray(), made.constructor === table.constructor];
  },
  "result of big numbers": async () => {
    const made = await routine(() => bignumber("1.5").plus(1))();
    return [typeOf(made), made.toString()];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => evaluate("1 +"))());
    return [error instanceof SyntaxError, error.message];
  },
});
