import { InvalidArgument } from "../errors.ts";
import { describeValue } from "./describe-value.ts";

/** Throws `InvalidArgument` unless `value` is a function: `what` takes one, as its `role` says. */
export function checkFunction(value: unknown, what: string, role: string): void {
  if (typeof value === "function") return;
  throw new InvalidArgument(`${what} takes ${role}, not ${describeValue(value)}`);
}
