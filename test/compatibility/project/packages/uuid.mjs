import { NIL, stringify, v5, validate } from "uuid";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const named = (name) => v5(name, v5.URL);

void check({
  binding: () => routine(() => [validate(NIL), v5("x", v5.DNS)])(),
  instance: () => routine(() => named("https://example.org"))(),
  argument: () => routine((make) => make("x", NIL))(v5),
  result: async () => (await routine(() => validate)()) === validate,
  thrown: async () => {
    const error = await reasonOf(routine(() => stringify(new Uint8Array(16).fill(1)))());
    return [error instanceof TypeError, error.message];
  },
});
