import * as either from "fp-ts/lib/Either.js";
import { pipe } from "fp-ts/lib/function.js";
import * as option from "fp-ts/lib/Option.js";
import * as t from "io-ts";
import { PathReporter } from "io-ts/lib/PathReporter.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const User = t.type({ id: t.number, name: t.string, tags: t.array(t.string) });

void check({
  binding: () => routine(() => either.isRight(t.string.decode(4)))(),
  piped: () =>
    routine((n) =>
      pipe(
        option.fromNullable(n),
        option.map((x) => x + 1),
        option.getOrElse(() => 0),
      ),
    )(4),
  instance: () => routine((input) => PathReporter.report(User.decode(input)))({ id: "x" }),
  argument: () => routine((it) => either.isRight(it.decode({ id: 1, name: "a", tags: [] })))(User),
  result: async () => {
    const codec = await routine(() => t.union([t.string, t.number]))();
    return [codec instanceof t.UnionType, codec.name, codec.is(4)];
  },
  "failure in a result": async () => PathReporter.report(await routine((input) => User.decode(input))({ id: 1 })),
  thrown: () =>
    reasonOf(
      routine(() => {
        throw either.left("x");
      })(),
    ),
});
