import { CORE_SCHEMA, dump, load, Schema, YAMLException } from "js-yaml";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const options = { schema: CORE_SCHEMA };

void check({
  binding: () => routine(() => [load("a: [1, 2]"), dump({ b: { c: true } })])(),
  instance: () => routine(() => load("on: 0o17", options))(),
  argument: () => routine((it) => [it instanceof Schema, load("x: 0o17", { schema: it })])(CORE_SCHEMA),
  result: async () => (await routine(() => CORE_SCHEMA)()) instanceof Schema,
  thrown: async () => {
    const error = await reasonOf(routine(() => load("a: [1"))());
    return [error instanceof YAMLException, error.name, error.mark.line, error.toString(true)];
  },
});
