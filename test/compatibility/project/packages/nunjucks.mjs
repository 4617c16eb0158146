import nunjucks from "nunjucks";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const environment = new nunjucks.Environment(null, { autoescape: true });
environment.addFilter("shout", (text) => `${text.toUpperCase()}!`);
const template = new nunjucks.Template("{% for n in list %}{{ n }};{% endfor %}");

void check({
  binding: () => routine(() => nunjucks.renderString("Hello {{ name }}", { name: "<ada>" }))(),
  instance: () => routine(() => environment.renderString("{{ name | shout }}", { name: "<a>" }))(),
  argument: () => routine((it) => it.renderString("{{ 'b' | shout }}", {}))(environment),
  template: () => routine(() => template.render({ list: [1, 2] }))(),
  result: async () => (await routine(() => new nunjucks.Environment(null))()).renderString("{{ 1 + 1 }}", {}),
  thrown: async () => {
    const error = await reasonOf(routine(() => nunjucks.renderString("{% bad %}", {}))());
    return [error instanceof Error, error.name, /unknown block tag: bad/.test(error.message)];
  },
});
