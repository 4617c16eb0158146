import { Temporal } from "temporal-polyfill";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const day = Temporal.PlainDate.from("2020-02-28");

void check({
  binding: () => routine(() => Temporal.PlainDate.from("2020-01-31").add({ months: 1 }).toString())(),
  instance: () => routine(() => day.add({ days: 2 }).toString())(),
  argument: () => routine((it, other) => it.until(other).toString())(day, Temporal.PlainDate.from("2020-03-01")),
  result: async () => {
    const made = await routine(() => Temporal.ZonedDateTime.from("2020-01-01T10:00[UTC]"))();
    return [made instanceof Temporal.ZonedDateTime, made.toString(), made.add({ hours: 1 }).hour];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => Temporal.PlainDate.from("x"))());
    return [error instanceof RangeError, error.message];
  },
});
