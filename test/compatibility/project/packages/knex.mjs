import knex from "knex";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const db = knex({ client: "pg" });
const query = db("users").where({ id: 1 }).select("name");

void check({
  binding: () => routine(() => knex({ client: "pg" })("users").where("id", 1).toString())(),
  instance: () => routine(() => db("users").where("id", 1).toString())(),
  argument: () => routine((it) => it.toString())(query),
  result: async () => (await routine(() => knex({ client: "pg" }).raw("select 1").toSQL())()).sql,
  thrown: async () => (await reasonOf(routine(() => knex({ client: "nothing" }))())).message.split("\n")[0],
});
