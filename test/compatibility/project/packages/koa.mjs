import Koa, { HttpError } from "koa";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const app = new Koa({ proxy: true });

void check({
  binding: () => routine(() => new Koa().subdomainOffset)(),
  instance: () => routine(() => app.proxy)(),
  argument: () => routine((it) => it.proxy)(app),
  result: async () => (await routine(() => new Koa())()) instanceof Koa,
  thrown: async () => {
    const error = await reasonOf(routine(() => app.createContext({}, {}).throw(418, "tea"))());
    return [error instanceof HttpError, error.status, error.message];
  },
});
