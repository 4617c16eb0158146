import "reflect-metadata";
import { container, inject, injectable, Lifecycle } from "tsyringe";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const own = container.createChildContainer();
own.register("answer", { useValue: 42 });
own.register("service", { useFactory: (it) => ({ value: it.resolve("answer") + 1 }) });

void check({
  binding: () =>
    routine(() => {
      const child = container.createChildContainer();
      child.register("a", { useValue: 1 });
      return child.resolve("a");
    })(),
  functions: () => routine(() => [typeof inject("a"), typeof injectable(), Lifecycle.Singleton])(),
  instance: () => routine(() => own.resolve("service").value)(),
  argument: () => routine((it) => it.resolve("answer"))(own),
  result: async () => await routine(() => own.isRegistered("answer"))(),
  thrown: async () => {
    const error = await reasonOf(routine(() => container.resolve("missing"))());
    return [error instanceof Error, error.message];
  },
});
