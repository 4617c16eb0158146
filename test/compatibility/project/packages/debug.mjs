import createDebug from "debug";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const log = createDebug("app:x");

void check({
  binding: () => routine(() => createDebug("app:y").namespace)(),
  instance: () =>
    routine(() => {
      log("hello %s", "ada");
      return [log.enabled, log.namespace];
    })(),
  argument: () => routine((it) => it.namespace)(log),
  result: async () => (await routine(() => createDebug("app:z"))()).namespace,
  thrown: async () =>
    createDebug.coerce(await reasonOf(routine(() => createDebug("x").extend(Symbol("x")))())).length > 0,
});
