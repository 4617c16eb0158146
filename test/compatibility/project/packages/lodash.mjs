import _ from "lodash";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const chain = _([3, 1, 2]).sortBy();
const add = _.curry((a, b, c) => a + b + c);
const addTwo = add(2);
const greet = _.partial((greeting, name) => `${greeting} ${name}`, "hello");
const slow = _.memoize((n) => n * 2);

void check({
  binding: () => routine((list) => _.chunk(_.uniq(list), 2))([1, 1, 2, 3]),
  member: () => routine((list) => _.groupBy(list, _.identity))([1, 1, 2]),
  instance: () => routine(() => chain.value())(),
  curry: () => routine(() => [add(1)(2)(3), addTwo(1, 1)])(),
  partial: () => routine(() => greet("ada"))(),
  memoize: () => routine(() => [slow(2), slow.cache.has(2)])(),
  argument: () => routine((it) => it("ada"))(greet),
  result: async () => (await routine(() => _.flow([(n) => n + 1, (n) => n * 2]))())(3),
  thrown: async () => {
    const error = await reasonOf(routine(() => _.debounce("no function"))());
    return [error instanceof TypeError, error.message];
  },
});
