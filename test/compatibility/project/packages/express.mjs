import express from "express";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const app = express();
app.set("title", "shop");
const router = express.Router();
router.get("/x", (_request, response) => response.send("x"));

void check({
  binding: () =>
    routine(() => {
      const made = express();
      made.set("title", "inner");
      return made.get("title");
    })(),
  instance: () => routine(() => app.get("title"))(),
  argument: () => routine((it) => it.stack.length)(router),
  result: async () => typeof (await routine(() => express.Router())()),
  thrown: async () => {
    const error = await reasonOf(routine(() => express().use())());
    return [error instanceof TypeError, error.message];
  },
});
