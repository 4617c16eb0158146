import fastify, { errorCodes } from "fastify";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const app = fastify();
app.get("/x", async () => ({ ok: true }));

void check({
  binding: () =>
    routine(async () => {
      const made = fastify();
      made.get("/", async () => ({ ok: true }));
      return (await made.inject("/")).json();
    })(),
  instance: () => routine(async () => (await app.inject("/x")).json())(),
  argument: () => routine((it) => it.name)(errorCodes.FST_ERR_DUPLICATED_ROUTE),
  result: async () => (await routine(() => errorCodes.FST_ERR_NOT_FOUND)()) === errorCodes.FST_ERR_NOT_FOUND,
  thrown: async () => {
    const fail = routine(() => {
      throw new errorCodes.FST_ERR_NOT_FOUND();
    });
    const error = await reasonOf(fail());
    return [error instanceof errorCodes.FST_ERR_NOT_FOUND, error.code, error.statusCode];
  },
});
