import pg from "pg";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const pool = new pg.Pool({ max: 3 });

void check({
  binding: () => routine(() => pg.escapeIdentifier('a"b'))(),
  instance: () => routine(() => pool.options.max)(),
  argument: () => routine((it) => it.getTypeParser(20)("5"))(pg.types),
  result: async () => (await routine(() => pg.Client)()) === pg.Client,
  thrown: async () => {
    const fail = routine(() => {
      throw Object.assign(new pg.DatabaseError("no", 2, "error"), { code: "42P01" });
    });
    const error = await reasonOf(fail());
    return [error instanceof pg.DatabaseError, error.code, error.message];
  },
});
