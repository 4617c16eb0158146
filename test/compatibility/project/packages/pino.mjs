import { pino } from "pino";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const logger = pino({ level: "silent", name: "app" });
const serialize = pino.stdSerializers.err;

void check({
  binding: () => routine(() => pino({ level: "silent" }).level)(),
  instance: () =>
    routine(() => {
      logger.info("hello");
      return [logger.level, logger.bindings().name];
    })(),
  argument: () => routine((it) => it.level)(logger),
  serializer: () => routine(() => serialize(new RangeError("x")).type)(),
  result: async () => (await routine(() => pino.levels)()).values.info,
  thrown: async () => (await reasonOf(routine(() => pino({ level: "nothing" }))())).message,
});
