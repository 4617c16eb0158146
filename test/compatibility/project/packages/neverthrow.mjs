import { Err, err, Ok, ok, okAsync } from "neverthrow";
import { match, P } from "ts-pattern";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const four = ok(4);
const pending = okAsync(3);
const pattern = { n: P.number.gt(2) };

void check({
  binding: () => routine((n) => (n > 1 ? ok(n) : err("low")).map((x) => x + 1).unwrapOr(0))(4),
  instance: () => routine(() => four.map((x) => x * 2).isOk())(),
  argument: () => routine((it) => it.unwrapOr(0))(err("x")),
  result: async () => {
    const made = await routine(() => ok({ a: 1 }))();
    return [made instanceof Ok, made.map(({ a }) => a).unwrapOr(0)];
  },
  "error in a result": async () => {
    const made = await routine(() => err(new TypeError("no")))();
    return [made instanceof Err, made.error instanceof TypeError, made.error.message];
  },
  asynchronous: async () => (await routine(() => pending.map((n) => n + 1))()).unwrapOr(0),
  matched: () =>
    routine((it) =>
      match(it)
        .with(pattern, () => "large")
        .with({ n: P.number }, () => "small")
        .otherwise(() => "none"),
    )({ n: 3 }),
  thrown: async () => {
    const unmatched = routine((it) =>
      match(it)
        .with(1, () => 1)
        .exhaustive(),
    );
    return (await reasonOf(unmatched(2))).message;
  },
});
