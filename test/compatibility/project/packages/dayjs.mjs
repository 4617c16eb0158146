import dayjs from "dayjs";
import duration from "dayjs/plugin/duration.js";
import utc from "dayjs/plugin/utc.js";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

dayjs.extend(utc);
dayjs.extend(duration);
const day = dayjs.utc("2024-02-28T10:00:00Z");

void check({
  binding: () => routine(() => dayjs("2024-02-28").add(2, "day").format("YYYY-MM-DD"))(),
  instance: () => routine(() => day.add(1, "month").format())(),
  argument: () => routine((it) => [dayjs.isDayjs(it), it.endOf("month").format()])(day),
  plugin: () => routine(() => dayjs.duration(90, "minutes").asHours())(),
  result: async () => {
    const made = await routine(() => dayjs.utc("2024-03-01"))();
    return [dayjs.isDayjs(made), made.format()];
  },
  thrown: async () => {
    const fail = routine(() => {
      throw day;
    });
    return (await reasonOf(fail())).format();
  },
});
