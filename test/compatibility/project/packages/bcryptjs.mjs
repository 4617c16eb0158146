import bcrypt, { compareSync } from "bcryptjs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const salt = "$2b$04$abcdefghijklmnopqrstuu";
const hash = (text) => bcrypt.hashSync(text, salt);

void check({
  binding: () => routine(() => bcrypt.hash("x", salt))(),
  instance: () => routine(() => compareSync("x", hash("x")))(),
  argument: () => routine((it) => it("x", "$2b$04$abc"))(bcrypt.compareSync),
  result: async () => (await routine(() => bcrypt.getRounds)())(hash("x")),
  thrown: async () => (await reasonOf(routine(() => bcrypt.hash("x", 5n))())).message,
});
