import { CsvError, Parser, parse as parseStream } from "csv-parse";
import { parse } from "csv-parse/sync";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const options = { columns: true, cast: (value) => (/^\d+$/.test(value) ? Number(value) : value) };
const stream = parseStream({ delimiter: ":" });

void check({
  binding: () => routine(() => parse("a,b\n1,2"))(),
  options: () => routine(() => parse("a,b\n1,x", options))(),
  instance: () => routine(() => stream instanceof Parser)(),
  argument: () => routine((it) => it instanceof Parser)(stream),
  result: async () => (await routine(() => parse("a\n1", { info: true }))()).map(({ info }) => info.lines),
  thrown: async () => {
    const error = await reasonOf(routine(() => parse("a,b\n1"))());
    return [error instanceof CsvError, error.code, error.lines, error.message];
  },
});
