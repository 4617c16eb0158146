import qs from "qs";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const options = { allowDots: true, decoder: (text, decode) => decode(text).toUpperCase() };

void check({
  binding: () => routine(() => [qs.parse("a[b]=1&a[c][]=2"), qs.stringify({ a: { b: [1, 2] } }, { encode: false })])(),
  instance: () => routine(() => qs.parse("a.b=x", options))(),
  argument: () => routine((it) => [it.parse === qs.parse, it.formats.RFC1738])(qs),
  result: async () => (await routine(() => qs.parse("a=1", { plainObjects: true }))()).a,
  thrown: async () => {
    const error = await reasonOf(routine(() => qs.stringify({ a: 1 }, { format: "other" }))());
    return [error instanceof TypeError, error.message];
  },
});
