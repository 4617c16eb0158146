import moment from "moment";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const day = moment.utc("2024-02-28T10:00:00Z");

void check({
  binding: () => routine(() => moment.utc("2024-02-28").add(2, "days").format("YYYY-MM-DD"))(),
  instance: () => routine(() => day.clone().add(1, "month").format())(),
  argument: () => routine((it) => [moment.isMoment(it), it.format("dddd")])(day),
  result: async () => {
    const made = await routine(() => moment.duration(90, "minutes"))();
    return [moment.isDuration(made), made.asHours()];
  },
  thrown: async () => {
    const fail = routine(() => {
      throw day;
    });
    return moment.isMoment(await reasonOf(fail()));
  },
});
