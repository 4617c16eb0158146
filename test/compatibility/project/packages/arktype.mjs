import { ArkErrors, type } from "arktype";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const schema = type({ id: "number.integer", "name?": "string > 1" });

void check({
  binding: () => routine((input) => type("string.email").allows(input))("ada@example.org"),
  instance: () => routine((input) => schema.allows(input))({ id: 1.5 }),
  argument: () => routine((it) => it.allows({ id: 1 }))(schema),
  result: async () => {
    const errors = await routine(() => type({ id: "number" })({ id: "x" }))();
    return [errors instanceof ArkErrors, errors.summary];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => type({ id: "number" }).assert({ id: "x" }))());
    return [error instanceof Error, error.name, error.message];
  },
});
