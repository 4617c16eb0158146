import { Marked, marked } from "marked";
import { routine } from "wool-ts";
import { check } from "../check.mjs";

const own = new Marked({ renderer: { hr: () => "rule" } });

void check({
  binding: () => routine(() => marked.parse("# a\n\n*b*"))(),
  instance: () => routine(() => own.parse("---"))(),
  argument: () => routine((it) => it.parse("# a"))(own),
  result: () => routine(() => marked.lexer("# a").map(({ type, raw }) => [type, raw]))(),
});
