import { InvalidArgument } from "../errors.ts";
import type { Check } from "./checks.ts";

/**
 * Checks an options object against a table of what each option must be. Absent options are fine. Throws
 * `InvalidArgument` for an option that is unknown or of the wrong kind. `what` names the API that takes the options.
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

/** Throws `InvalidArgument` unless `value` is a function. `what` names the API that takes it, `role` the function. */
export function checkFunction(value: unknown, what: string, role: string): void {
  if (typeof value === "function") return;
  throw new InvalidArgument(`${what} takes ${role}, not ${describeValue(value)}`);
}

function hint(key: string, checks: Readonly<Record<string, Check>>): string {
  const known = Object.keys(checks);
  const near = nearestName(key, known);
  return near === undefined ? `it has ${known.join(", ")}` : `did you mean "${near}"?`;
}

/** Describes a value briefly, for a message. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value);
  if (typeof value === "function") return value.name === "" ? "a function" : `the function ${value.name}`;
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : String(value);
  if (Array.isArray(value)) return "an array";
  const name: unknown = value.constructor?.name;
  return typeof name === "string" && name !== "" && name !== "Object" ? `${article(name)} ${name}` : "an object";
}

function article(name: string): string {
  return /^[AEIOU]/i.test(name) ? "an" : "a";
}

/** The name that someone who wrote `wanted` most likely meant; undefined when none is like it. */
export function nearestName(wanted: string, names: Iterable<string>): string | undefined {
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  let best: string | undefined;
  let least = limit + 1;
  for (const name of names) {
    const distance = editDistance(wanted.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    best = name;
    least = distance;
  }
  return best;
}

/** How many characters must be inserted, removed, replaced or swapped with their neighbour. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const same = from[row - 1] === to[column - 1];
      const replaced = (last[column - 1] ?? 0) + (same ? 0 : 1);
      const swaps = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      const swapped = swaps ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY;
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced, swapped));
    }
    [beforeLast, last] = [last, current];
  }
  return last[to.length] ?? 0;
}
