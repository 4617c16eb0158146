import dotenv, { parse } from "dotenv";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const settings = parse("A=1\nB=two");

void check({
  binding: () => routine(() => dotenv.parse("A=1"))(),
  instance: () => routine(() => settings.B)(),
  argument: () => routine((it) => it)(settings),
  result: () => routine(() => parse("C=3"))(),
  thrown: async () => (await reasonOf(routine(() => dotenv.populate({}, null))())).code,
});
