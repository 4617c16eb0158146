import * as v from "valibot";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const schema = v.object({ id: v.pipe(v.number(), v.integer()), name: v.optional(v.string(), "nobody") });

void check({
  binding: () => routine(() => v.is(v.pipe(v.string(), v.email()), "no"))(),
  instance: () => routine((input) => v.parse(schema, input))({ id: 1 }),
  argument: () => routine((it) => v.is(it, { id: 1.5 }))(schema),
  result: async () => v.is(await routine(() => v.pipe(v.string(), v.minLength(3)))(), "ab"),
  thrown: async () => {
    const error = await reasonOf(routine(() => v.parse(schema, { id: "x" }))());
    return [error instanceof v.ValiError, v.isValiError(error), error.message, error.issues.length];
  },
});
