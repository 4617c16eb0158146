import { Hono } from "hono";
import { HTTPException } from "hono/http-exception";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const app = new Hono();
app.get("/hi/:name", (context) => context.text(`hello ${context.req.param("name")}`));

void check({
  binding: () =>
    routine(async () => {
      const made = new Hono();
      made.get("/", (context) => context.json({ a: 1 }));
      return (await made.request("/")).json();
    })(),
  instance: () => routine(async () => (await app.request("/hi/ada")).text())(),
  argument: () => routine(async (it) => (await it.request("/hi/bob")).text())(app),
  result: () => routine(async () => (await new Hono().get("/", (it) => it.text("x")).request("/")).text())(),
  thrown: async () => {
    const error = await reasonOf(
      routine(() => {
        throw new HTTPException(401, { message: "no" });
      })(),
    );
    return [error instanceof HTTPException, error.status, error.message];
  },
});
