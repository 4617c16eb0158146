import { and, DrizzleError, eq, sql } from "drizzle-orm";
import { pgTable, QueryBuilder, serial, text } from "drizzle-orm/pg-core";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const users = pgTable("users", { id: serial("id").primaryKey(), name: text("name").notNull() });
const query = new QueryBuilder().select().from(users).where(eq(users.id, 1));

void check({
  binding: () =>
    routine(() => {
      const table = pgTable("t", { id: serial("id") });
      return new QueryBuilder().select().from(table).where(eq(table.id, 4)).toSQL();
    })(),
  table: () =>
    routine(() => {
      const isWanted = and(eq(users.id, 7), eq(users.name, "ada"));
      return new QueryBuilder().select({ n: users.name }).from(users).where(isWanted).toSQL();
    })(),
  instance: () => routine(() => query.toSQL())(),
  argument: () => routine((it) => it.toSQL())(query),
  "table as argument": () => routine((it) => new QueryBuilder().select().from(it).toSQL())(users),
  result: async () => (await routine(() => sql`a = ${1}`)()).queryChunks.length,
  thrown: async () => {
    const error = await reasonOf(
      routine(() => {
        throw new DrizzleError({ message: "bad" });
      })(),
    );
    return [error instanceof DrizzleError, error.message];
  },
});
