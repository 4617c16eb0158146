import * as R from "ramda";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const total = R.pipe(R.map(R.prop("price")), R.sum);
const byName = R.sortBy(R.prop("name"));
const lens = R.lensPath(["a", "b"]);

void check({
  binding: () => routine((list) => R.uniq(list))([1, 1, 2]),
  instance: () => routine((list) => total(list))([{ price: 1 }, { price: 2 }]),
  lens: () => routine(() => R.set(lens, 2, { a: { b: 1 } }))(),
  argument: () => routine((sort) => sort([{ name: "b" }, { name: "a" }]))(byName),
  result: async () => (await routine(() => R.add(2))())(3),
  thrown: async () => (await reasonOf(routine(() => R.reduce(null, null, 5))())) instanceof TypeError,
});
