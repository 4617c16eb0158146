/** What a TypeScript worker serves to callers in other languages in the tests. */
import { routine } from "wool-ts";

export const add = routine(async (x, y) => x + y);

export async function echo(value) {
  return value;
}

export function order(item) {
  throw Object.assign(new RangeError(`no ${item} left`), { item });
}

export async function* count(limit) {
  for (let number = 0; number < limit; number++) yield number;
  return "done";
}

export async function* conversation(name) {
  let said = `hello ${name}`;
  while (true) {
    try {
      said = `you said ${yield said}`;
    } catch (error) {
      said = `caught ${error.message}`;
    }
  }
}

export const waiting = async () => await new Promise(() => undefined);
