import chalk, { Chalk } from "chalk";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const own = new Chalk({ level: 1 });
const warn = own.bold.yellow;

void check({
  binding: () => routine(() => new Chalk({ level: 1 }).red("x"))(),
  default: () => routine(() => chalk.red("x").includes("x"))(),
  instance: () => routine(() => warn("x"))(),
  argument: () => routine((it) => it.green("x"))(own),
  result: async () => (await routine(() => new Chalk({ level: 1 }).blue)())("x"),
  thrown: async () => (await reasonOf(routine(() => new Chalk({ level: 9 }))())).message,
});
