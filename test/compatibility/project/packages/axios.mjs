import axios, { AxiosError, AxiosHeaders, CanceledError, isAxiosError } from "axios";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const client = axios.create({ baseURL: "http://127.0.0.1:9", headers: { "x-app": "test" } });
const headers = AxiosHeaders.from({ accept: "text/plain" });

void check({
  binding: () => routine(() => axios.getUri({ url: "/x", params: { a: 1 } }))(),
  instance: () => routine(() => [client.defaults.baseURL, client.getUri({ url: "/y" })])(),
  argument: () => routine((it) => [it instanceof AxiosHeaders, it.get("accept")])(headers),
  result: async () => {
    const made = await routine(() => AxiosHeaders.from({ "x-a": "1" }))();
    return [made instanceof AxiosHeaders, made.get("x-a")];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => axios.get("http://127.0.0.1:9/"))());
    return [error instanceof AxiosError, isAxiosError(error), error.name, error.code];
  },
  "thrown by hand": async () => {
    const fail = routine(() => {
      throw new AxiosError("bad", "ERR_BAD");
    });
    const error = await reasonOf(fail());
    return [error instanceof AxiosError, error instanceof axios.AxiosError, error.code, error.toJSON().message];
  },
  cancelled: async () => {
    const fail = routine(() => {
      throw new CanceledError("enough");
    });
    const error = await reasonOf(fail());
    return [error instanceof CanceledError, axios.isCancel(error), error.message];
  },
});
