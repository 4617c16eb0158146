import { InvalidArgument } from "../errors.ts";
import type { Check } from "./checks.ts";
import { describeValue } from "./describe-value.ts";
import { nearestName } from "./nearest-name.ts";

/**
 * Checks an options object against a table of what each option must be. Absent options are fine. Throws
 * `InvalidArgument` for an option that is unknown or of the wrong kind; `what` has the options.
 */
export function checkOptions(options: unknown, checks: Readonly<Record<string, Check>>, what: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new InvalidArgument(`${what} takes an options object, not ${describeValue(options)}`);
  }
  for (const [key, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const check = Object.hasOwn(checks, key) ? checks[key] : undefined;
    if (check === undefined) throw new InvalidArgument(`${what} has no option "${key}"; ${hint(key, checks)}`);
    checkOption(value, check, what, key);
  }
}

/** Throws `InvalidArgument` when an option is not what it must be. */
export function checkOption(value: unknown, check: Check, what: string, name: string): void {
  const expected = check(value);
  if (expected === undefined) return;
  throw new InvalidArgument(`${what}: option "${name}" must be ${expected}, not ${describeValue(value)}`);
}

/** Throws `InvalidArgument` unless `value` is a function: `what` takes one, as its `role` says. */
export function checkFunction(value: unknown, what: string, role: string): void {
  if (typeof value === "function") return;
  throw new InvalidArgument(`${what} takes ${role}, not ${describeValue(value)}`);
}

function hint(key: string, checks: Readonly<Record<string, Check>>): string {
  const known = Object.keys(checks);
  const near = nearestName(key, known);
  return near === undefined ? `it has ${known.join(", ")}` : `did you mean "${near}"?`;
}
