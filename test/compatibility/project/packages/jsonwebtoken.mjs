import jwt from "jsonwebtoken";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const token = jwt.sign({ id: 1 }, "secret", { noTimestamp: true });
const verify = (it) => jwt.verify(it, "secret");

void check({
  binding: () => routine((it) => jwt.verify(it, "secret"))(token),
  instance: () => routine((it) => verify(it))(token),
  argument: () => routine((decode) => decode(token))(jwt.decode),
  result: () => routine(() => jwt.sign({ id: 2 }, "secret", { noTimestamp: true }))(),
  thrown: async () => {
    const error = await reasonOf(routine(() => jwt.verify(token, "other"))());
    return [error instanceof jwt.JsonWebTokenError, error.name, error.message];
  },
});
