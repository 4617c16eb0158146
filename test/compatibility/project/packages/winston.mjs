import winston from "winston";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const logger = winston.createLogger({ level: "warn", silent: true });
const upper = winston.format((info) => ({ ...info, message: info.message.toUpperCase() }));

void check({
  binding: () => routine(() => winston.config.npm.levels.error)(),
  instance: () => routine(() => logger.level)(),
  argument: () => routine((it) => it.level)(logger),
  format: () => routine(() => upper().transform({ message: "x" }).message)(),
  result: async () => (await routine(() => winston.config.syslog.levels)()).emerg,
  thrown: async () => (await reasonOf(routine(() => winston.format("no function"))())) instanceof Error,
});
