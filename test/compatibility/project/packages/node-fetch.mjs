import fetch, { FetchError, Headers, Response } from "node-fetch";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const headers = new Headers({ accept: "text/plain" });

void check({
  binding: () => routine(async () => await new Response("hello").text())(),
  instance: () => routine(() => headers.get("accept"))(),
  argument: () => routine((it) => [...it])(headers),
  result: async () => (await routine(() => new Headers({ a: "1" }))()).get("a"),
  thrown: async () => {
    const error = await reasonOf(routine(() => fetch("http://127.0.0.1:9/"))());
    return [error instanceof FetchError, error.name, error.code];
  },
});
