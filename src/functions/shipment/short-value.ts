import { inspect } from "node:util";

const MAX_LENGTH = 80;

/** What a value is, on one line of at most 80 characters. Runs no code of the user's. */
export function shortValue(value: unknown): string {
  const text = inspect(value, {
    depth: 0,
    breakLength: Number.POSITIVE_INFINITY,
    compact: true,
    customInspect: false,
    getters: false,
    maxArrayLength: 4,
    maxStringLength: MAX_LENGTH,
  }).replace(/\s+/g, " ");
  return text.length <= MAX_LENGTH ? text : `${text.slice(0, MAX_LENGTH - 1)}…`;
}
