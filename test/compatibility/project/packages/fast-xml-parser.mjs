import { XMLBuilder, XMLParser, XMLValidator } from "fast-xml-parser";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const parser = new XMLParser({ ignoreAttributes: false, tagValueProcessor: (_name, value) => value.trim() });

void check({
  binding: () => routine(() => [XMLValidator.validate("<a/>"), new XMLParser().parse("<a><b>1</b><b>2</b></a>")])(),
  instance: () => routine(() => parser.parse('<a id="1"> x </a>'))(),
  argument: () => routine((it) => [it instanceof XMLParser, it.parse("<a><b/></a>")])(parser),
  result: async () => (await routine(() => new XMLBuilder({ format: false }))()).build({ a: { b: [1, 2] } }),
  thrown: async () => {
    const error = await reasonOf(routine(() => new XMLParser().parse("<a>", true))());
    return [error instanceof Error, error.message];
  },
});
