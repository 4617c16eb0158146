import { inspect } from "node:util";

/** A value as it appears in an error message: short, on one line. */
export function describeValue(value: unknown): string {
  const text = inspect(value, { depth: 0, breakLength: Number.POSITIVE_INFINITY, maxStringLength: 60 });
  return text.length <= 120 ? text : `${text.slice(0, 117)}...`;
}
