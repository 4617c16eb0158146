import { addDays, format, formatISO, parseISO } from "date-fns";
import { sv } from "date-fns/locale";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const day = parseISO("2024-02-28");

void check({
  binding: () => routine(() => formatISO(addDays(day, 2)))(),
  instance: () => routine(() => format(day, "EEEE d MMMM", { locale: sv }))(),
  argument: () => routine((locale) => format(day, "MMMM", { locale }))(sv),
  result: async () => formatISO(await routine(() => addDays(day, 1))()),
  thrown: async () => {
    const error = await reasonOf(routine(() => format(new Date(Number.NaN), "d"))());
    return [error instanceof RangeError, error.message];
  },
});
