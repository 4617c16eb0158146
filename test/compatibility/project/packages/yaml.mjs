import { routine } from "wool-ts";
import { isDocument, parse, parseDocument, YAMLParseError } from "yaml";
import { check, reasonOf } from "../check.mjs";

const document = parseDocument("a: 1 # one\nb: [1, 2]\n");

void check({
  binding: () => routine((text) => parse(text))("a: [1, 2]"),
  instance: () => routine(() => document.toString())(),
  argument: () =>
    routine((it) => {
      const own = it.clone();
      own.set("c", 3);
      return String(own);
    })(document),
  result: async () => {
    const made = await routine(() => parseDocument("a: 1"))();
    return [isDocument(made), made.get("a"), String(made)];
  },
  thrown: async () => {
    const error = await reasonOf(routine(() => parse("a: ["))());
    return [error instanceof YAMLParseError, error.code, error.message];
  },
});
