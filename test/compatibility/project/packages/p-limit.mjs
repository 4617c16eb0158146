import pLimit from "p-limit";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const limit = pLimit(2);

void check({
  binding: () => routine(async () => Promise.all([1, 2, 3].map((n) => pLimit(1)(async () => n * 2))))(),
  instance: () => routine(() => limit(async () => 5))(),
  argument: () => routine((it) => it(async () => 5))(limit),
  result: async () => (await routine(() => pLimit(3))())(async () => 7),
  thrown: async () => {
    const error = await reasonOf(routine(() => pLimit(0))());
    return [error instanceof TypeError, error.message];
  },
});
