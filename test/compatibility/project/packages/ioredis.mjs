import { Command, Redis, ReplyError } from "ioredis";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const client = new Redis({ lazyConnect: true });

void check({
  binding: () => routine(() => new Redis({ lazyConnect: true }).status)(),
  instance: () => routine(() => client.status)(),
  argument: () => routine((it) => it.name)(Command),
  result: async () => (await routine(() => Redis)()) === Redis,
  thrown: async () => {
    const fail = routine(() => {
      throw new ReplyError("ERR no");
    });
    const error = await reasonOf(fail());
    return [error instanceof ReplyError, error.message];
  },
});
