import { routine } from "wool-ts";
import { assign, createActor, createMachine } from "xstate";
import { check } from "../check.mjs";

const machine = createMachine({
  id: "lamp",
  initial: "off",
  context: { count: 0 },
  states: {
    off: { on: { SWITCH: { target: "on", actions: assign({ count: ({ context }) => context.count + 1 }) } } },
    on: { on: { SWITCH: "off" } },
  },
});
const actor = createActor(machine).start();
const run = (it) => {
  const started = createActor(it).start();
  started.send({ type: "SWITCH" });
  const { value, context } = started.getSnapshot();
  return [value, context];
};

void check({
  binding: () =>
    routine(
      () =>
        createActor(createMachine({ initial: "a", states: { a: {} } }))
          .start()
          .getSnapshot().value,
    )(),
  instance: () => routine(() => run(machine))(),
  running: () => routine(() => actor.getSnapshot().value)(),
  argument: () => routine(run)(machine),
  result: async () => {
    const kept = await routine(() => {
      const started = createActor(machine).start();
      started.send({ type: "SWITCH" });
      return started.getPersistedSnapshot();
    })();
    return createActor(machine, { snapshot: kept }).start().getSnapshot().value;
  },
});
