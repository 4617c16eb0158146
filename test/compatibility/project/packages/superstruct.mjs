import { integer, is, object, optional, Struct, StructError, string, assert as verify } from "superstruct";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const schema = object({ id: integer(), name: optional(string()) });

void check({
  binding: () => routine(() => is("x", string()))(),
  instance: () => routine((input) => is(input, schema))({ id: 1.5 }),
  argument: () => routine((it) => it.is({ id: 1 }))(schema),
  result: async () => {
    const made = await routine(() => object({ id: string() }))();
    return [made instanceof Struct, made.is({ id: "x" }), made.is({ id: 1 })];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => verify({ id: "x" }, schema))());
    return [error instanceof StructError, error.message, error.path];
  },
});
