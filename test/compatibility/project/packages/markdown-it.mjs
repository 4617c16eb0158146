import MarkdownIt from "markdown-it";
import { routine } from "wool-ts";
import { check } from "../check.mjs";

const markdown = new MarkdownIt({ html: true, linkify: true });
markdown.renderer.rules.strong_open = () => "<b>";
markdown.renderer.rules.strong_close = () => "</b>";

void check({
  binding: () => routine(() => new MarkdownIt().render("# hi *x*"))(),
  instance: () => routine(() => markdown.render("# hi **x** http://a.com"))(),
  argument: () => routine((it) => it.render("**x**"))(markdown),
  result: async () => {
    const tokens = await routine(() => new MarkdownIt().parse("# hi", {}))();
    return [tokens[0].attrIndex("x"), markdown.renderer.render(tokens, markdown.options, {})];
  },
});
