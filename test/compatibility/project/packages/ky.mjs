import ky, { HTTPError } from "ky";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const respond = (status) => async (request) => new Response(JSON.stringify({ url: request.url }), { status });
const client = ky.create({ fetch: respond(200), prefix: "http://service.example", retry: 0 });

void check({
  binding: () => routine(() => ky.get("http://service.example/a", { fetch: respond(200) }).json())(),
  instance: () => routine(() => client.get("b").json())(),
  argument: () => routine((it) => it.get("c").json())(client),
  result: async () =>
    (await routine(() => ky.create({ fetch: respond(200) }))()).get("http://service.example/d").json(),
  thrown: async () => {
    const error = await reasonOf(
      routine(async () => {
        try {
          await ky.get("http://service.example/e", { fetch: respond(404), retry: 0 });
        } catch (failure) {
          throw new Error(failure.message, { cause: failure.name });
        }
      })(),
    );
    return [error.message, error.cause, typeof HTTPError];
  },
});
