import Papa from "papaparse";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const config = { header: true, dynamicTyping: true, transform: (value) => value.trim() };
const parser = new Papa.Parser({ delimiter: ";" });

void check({
  binding: () => routine(() => Papa.parse("a,b\n1,2\n3,4").data)(),
  instance: () => routine(() => Papa.parse("a,b\n 1,2", config).data)(),
  parser: () => routine(() => parser.parse("1;2\n3;4", 0, false).data)(),
  argument: () => routine((it) => it.parse("1;2", 0, false).data)(parser),
  result: async () => (await routine(() => Papa.parse('a,b\n"1,2'))()).errors.map(({ code, row }) => [code, row]),
  thrown: async () => {
    const error = await reasonOf(routine(() => Papa.unparse(5))());
    return [error instanceof Error, error.message];
  },
});
