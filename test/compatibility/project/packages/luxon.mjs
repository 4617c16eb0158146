import { DateTime, Duration, Interval } from "luxon";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const day = DateTime.fromISO("2024-02-28T10:00:00", { zone: "Europe/Stockholm" });

void check({
  binding: () => routine(() => DateTime.fromISO("2024-02-28", { zone: "utc" }).plus({ days: 2 }).toISODate())(),
  instance: () => routine(() => day.plus({ months: 1 }).toISO())(),
  argument: () => routine((it) => [it instanceof DateTime, it.zoneName, it.weekday])(day),
  result: async () => {
    const made = await routine(() => Interval.after(day, Duration.fromObject({ hours: 2 })))();
    return [made instanceof Interval, made.length("minutes"), made.start.toISO()];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => Duration.fromObject({ nothings: 1 }))());
    return [error instanceof Error, error.constructor.name, error.message];
  },
});
