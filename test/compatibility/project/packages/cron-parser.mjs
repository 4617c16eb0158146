import { CronExpressionParser } from "cron-parser";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const options = { currentDate: "2024-01-01T00:00:00Z", tz: "UTC" };
const hourly = CronExpressionParser.parse("0 * * * *", options);

void check({
  binding: () => routine(() => CronExpressionParser.parse("*/5 * * * *", options).next().toISOString())(),
  instance: () => routine(() => hourly.fields.hour.values.length)(),
  argument: () => routine((it) => it.stringify())(hourly),
  result: async () => await routine(() => CronExpressionParser.parse("0 0 * * 1", options).stringify())(),
  thrown: async () => {
    const error = await reasonOf(routine(() => CronExpressionParser.parse("61 * * * *"))());
    return [error instanceof Error, error.message];
  },
});
