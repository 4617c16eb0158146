import {
  DummyDriver,
  Kysely,
  NoResultError,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  sql,
} from "kysely";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const dialect = {
  createAdapter: () => new PostgresAdapter(),
  createDriver: () => new DummyDriver(),
  createIntrospector: (db) => new PostgresIntrospector(db),
  createQueryCompiler: () => new PostgresQueryCompiler(),
};
const db = new Kysely({ dialect });
const query = db.selectFrom("users").select("name").where("id", "=", 1);

void check({
  binding: () => routine(() => new Kysely({ dialect }).selectFrom("users").selectAll().compile().sql)(),
  instance: () => routine(() => db.selectFrom("users").selectAll().compile().sql)(),
  argument: () => routine((it) => it.compile().sql)(query),
  "compiled argument": () => routine((it) => [it.sql, it.parameters])(query.compile()),
  result: () => routine(() => sql`select ${1}`.toOperationNode())(),
  thrown: async () => {
    const error = await reasonOf(
      routine(() => {
        throw new NoResultError({ kind: "SelectQueryNode" });
      })(),
    );
    return [error instanceof NoResultError, error.message, error.node];
  },
});
