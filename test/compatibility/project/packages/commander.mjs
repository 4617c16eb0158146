import { Command, CommanderError, Option } from "commander";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const program = new Command("app").option("-n, --number <n>", "a number", Number, 1).exitOverride();

void check({
  binding: () => routine(() => new Command("x").option("-a").parse(["-a"], { from: "user" }).opts())(),
  instance: () => routine((args) => program.parse(args, { from: "user" }).opts())(["-n", "5"]),
  argument: () => routine((it) => [it instanceof Option, it.long])(new Option("--level <level>")),
  result: async () => {
    const made = await routine(() => new Option("--level <level>").choices(["a"]))();
    return [made instanceof Option, made.attributeName()];
  },
  thrown: async () => {
    const fail = routine(() =>
      new Command("x")
        .exitOverride()
        .configureOutput({ writeErr() {} })
        .parse(["--no"], { from: "user" }),
    );
    const error = await reasonOf(fail());
    return [error instanceof CommanderError, error.code, error.exitCode];
  },
});
