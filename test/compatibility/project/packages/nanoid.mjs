import { customAlphabet, customRandom, nanoid, urlAlphabet } from "nanoid";
import { routine } from "wool-ts";
import { check, reasonOf } from "../check.mjs";

const shortId = customAlphabet("abc", 5);
const fixed = customRandom("abcd", 6, (size) => new Uint8Array(size).fill(1));

void check({
  binding: () => routine(() => [nanoid().length, urlAlphabet.length])(),
  instance: () => routine(() => /^[abc]{5}$/.test(shortId()))(),
  argument: () => routine((make) => make())(fixed),
  result: async () => (await routine(() => customAlphabet("x", 3))())(),
  thrown: async () => (await reasonOf(routine(() => nanoid(Symbol("x")))())) instanceof TypeError,
});
