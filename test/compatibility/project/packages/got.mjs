import got, { HTTPError, Options, RequestError } from "got";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const client = got.extend({ prefixUrl: "http://127.0.0.1:9", retry: { limit: 0 } });

void check({
  binding: () => routine(() => [typeof got.get, HTTPError.name, typeof Options])(),
  instance: () => routine(() => String(client.defaults.options.prefixUrl))(),
  argument: () => routine((it) => it.name)(RequestError),
  result: async () => (await routine(() => RequestError)()) === RequestError,
  thrown: async () => {
    const error = await reasonOf(routine(() => got("http://127.0.0.1:9/", { retry: { limit: 0 } }).text())());
    return [error instanceof RequestError, error.name, error.code];
  },
});
