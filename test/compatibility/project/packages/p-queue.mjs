import PQueue, { TimeoutError } from "p-queue";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const queue = new PQueue({ concurrency: 2 });

void check({
  binding: () =>
    routine(async () => {
      const own = new PQueue({ concurrency: 1 });
      const done = [];
      await own.addAll([3, 1, 2].map((n) => async () => done.push(n)));
      return done;
    })(),
  instance: () => routine(() => queue.add(() => 5))(),
  argument: () => routine((it) => it.add(() => 5))(queue),
  result: async () => (await routine(() => new PQueue({ concurrency: 3 }))()).concurrency,
  thrown: async () => {
    const error = await reasonOf(
      routine(() => new PQueue({ timeout: 1 }).add(() => new Promise(() => undefined), { throwOnTimeout: true }))(),
    );
    return [error instanceof TimeoutError, error.name];
  },
});
