import ms from "ms";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const durations = { ms, texts: ["2 days", "1m", "-3 min"] };

void check({
  binding: () => routine(() => [ms("2h"), ms(60_000, { long: true })])(),
  instance: () => routine(() => durations.texts.map((text) => durations.ms(text)))(),
  argument: () => routine((it) => [it === ms, it("1s")])(ms),
  result: async () => (await routine(() => ms)()) === ms,
  thrown: async () => {
    const error = await reasonOf(routine(() => ms({}))());
    return [error instanceof Error, error.message];
  },
});
