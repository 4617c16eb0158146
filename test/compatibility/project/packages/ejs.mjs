import ejs from "ejs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const template = ejs.compile("<% for (const name of names) { %><li><%= name %></li><% } %>");

void check({
  binding: () => routine(() => ejs.render("<b><%= n * 2 %></b>", { n: 4 }))(),
  instance: () => routine(() => template({ names: ["a", "<b>"] }))(),
  argument: () => routine((it) => it({ names: ["c"] }))(template),
  result: async () => (await routine(() => ejs.compile("<%= a %>!"))())({ a: 1 }),
  thrown: async () => {
    const error = await reasonOf(routine(() => ejs.render("<%= missing.name %>"))());
    return [error instanceof ReferenceError, error.message.includes("missing is not defined")];
  },
});
