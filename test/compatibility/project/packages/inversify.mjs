import "reflect-metadata";
import { Container } from "inversify";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const container = new Container();
container.bind("answer").toConstantValue(42);

void check({
  binding: () =>
    routine(() => {
      const own = new Container();
      own.bind("a").toDynamicValue(() => 1);
      return own.get("a");
    })(),
  instance: () => routine(() => container.get("answer"))(),
  argument: () => routine((it) => it.get("answer"))(container),
  result: async () => (await routine(() => new Container())()) instanceof Container,
  thrown: async () => {
    const error = await reasonOf(routine(() => new Container().get("missing"))());
    return [error instanceof Error, error.message.includes("missing")];
  },
});
