import Handlebars from "handlebars";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const greet = Handlebars.compile("hello {{name}}");

void check({
  binding: () => routine((name) => Handlebars.compile("{{name}}!")({ name }))("ada"),
  instance: () => routine(() => greet({ name: "<ada>" }))(),
  argument: () => routine((it) => it({ name: "ada" }))(greet),
  result: async () => (await routine(() => new Handlebars.SafeString("<b>"))()).toHTML(),
  thrown: async () => {
    const fail = routine(() => {
      throw new Handlebars.Exception("bad");
    });
    const error = await reasonOf(fail());
    return [error instanceof Handlebars.Exception, error.message];
  },
  "thrown by a template": async () => {
    const error = await reasonOf(routine(() => Handlebars.compile("{{#if}}")({}))());
    return error.message.split("\n")[0];
  },
});
