import _, { chunk, curry, merge, template } from "lodash-es";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const add = curry((a, b) => a + b);
const greet = template("hello <%= name %>");

void check({
  binding: () => routine(() => [chunk([1, 2, 3], 2), _.last([1, 2]), merge({ a: { b: 1 } }, { a: { c: 2 } })])(),
  instance: () => routine(() => add(1)(2))(),
  template: () => routine(() => greet({ name: "ada" }))(),
  argument: () => routine((it) => it(1)(2))(add),
  result: async () => (await routine(() => _.negate(_.isString))())("x"),
  thrown: async () => (await reasonOf(routine(() => _.debounce("no function"))())).message,
});
