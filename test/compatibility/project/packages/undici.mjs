import { Agent, errors, FormData, Headers, Response, request } from "undici";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const agent = new Agent({ connections: 1 });

void check({
  binding: () => routine(() => [new Headers({ a: "1" }).get("a"), new FormData().has("x")])(),
  instance: () => routine(() => agent.closed)(),
  argument: () => routine((it) => it.name)(errors.ConnectTimeoutError),
  result: async () => (await routine(() => new Response("x", { status: 201 }))()).status,
  thrown: async () => {
    const fail = routine(() => {
      throw new errors.ConnectTimeoutError("late");
    });
    const error = await reasonOf(fail());
    return [error instanceof errors.ConnectTimeoutError, error instanceof errors.UndiciError, error.code];
  },
  "thrown by a request": async () => (await reasonOf(routine(() => request("http://127.0.0.1:9/"))())).code,
});
