import Mustache from "mustache";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const writer = new Mustache.Writer();
writer.parse("{{#list}}<{{.}}>{{/list}}");
const context = new Mustache.Context({ name: "ada", upper: () => (text) => text.toUpperCase() });

void check({
  binding: () =>
    routine(() => Mustache.render("{{name}} has {{#items}}[{{.}}]{{/items}}", { name: "x", items: [1, 2] }))(),
  instance: () => routine(() => writer.render("{{#list}}<{{.}}>{{/list}}", { list: [1, 2] }))(),
  argument: () => routine((it) => [it instanceof Mustache.Context, it.lookup("name")])(context),
  result: async () => {
    const made = await routine(() => context.push({ own: 1 }))();
    return [made instanceof Mustache.Context, made.lookup("own"), made.lookup("name")];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => Mustache.render("{{#open}}", {}))());
    return [error instanceof Error, error.message];
  },
});
