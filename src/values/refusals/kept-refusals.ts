import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { SerializationError } from "../../errors.ts";
import { type ChangeCheck, type FunctionPort, isCell, watchEntries, watchProperties } from "../function-port.ts";
import { ownProperty } from "../own-property.ts";
import type { ValueRefusal } from "../value-refusal.ts";

/*
 * To find that a value holds too many functions takes as long as the budget for them allows: hundreds of milliseconds
 * with values of mathjs. A caller that goes on passing such a value is refused at once, while everything that was looked
 * at is the same. That takes a millisecond or two.
 */

/** How long a refusal is kept, in milliseconds. Modules that are loaded meanwhile may give names to functions. */
const LONGEST = 10_000;
/** More objects, or longer lists, are not compared. */
const MOST_OBJECTS = 20_000;
const LONGEST_LIST = 10_000;
/** More data than this beside the value is not looked through. */
const MOST_DATA = 1000;

interface KeptRefusal {
  /** The values that were encoded, without those that are only data. */
  readonly values: readonly (object | undefined)[];
  readonly rootName: string;
  readonly error: SerializationError;
  readonly isSame: ChangeCheck;
  readonly rules: string | undefined;
  readonly until: number;
}

/** The refusals of values with too many functions. */
export class KeptRefusals {
  readonly #port: FunctionPort;
  readonly #kept = new WeakMap<object, KeptRefusal>();

  constructor(port: FunctionPort) {
    this.#port = port;
  }

  /** Throws again what encoding these values has thrown before, if nothing about them has changed. */
  refuse(values: readonly unknown[], rootName: string): void {
    for (const value of values) {
      const kept = isObject(value) ? this.#kept.get(value) : undefined;
      if (kept === undefined || !isObject(value)) continue;
      if (kept.rootName !== rootName || !kept.values.every((each, at) => each === undefined || each === values[at]))
        continue;
      if (kept.rules === this.#port.rules?.() && performance.now() < kept.until && kept.isSame()) {
        const { message, path, cause } = kept.error;
        throw new SerializationError(message, path, cause === undefined ? undefined : { cause });
      }
      this.#kept.delete(value);
    }
  }

  /**
   * What the refusal of these values depends on; undefined when it is not worth to be kept, or when nothing tells
   * whether it would be the same. To be called in the capture that ended with it.
   *
   * @param seen - the objects that were written before
   */
  watch(values: readonly unknown[], refusal: ValueRefusal, seen: Iterable<object>): Refused | undefined {
    const functions = this.#port.watchExamined?.();
    if (functions === undefined) return undefined;
    const data = new Set<object>([values]);
    // More data beside the value changes nothing: there are too many functions without it.
    const kept = values.map((value) => (isObject(value) && !isOnlyData(value, data) ? value : undefined));
    const checks: ChangeCheck[] = [functions];
    for (const object of [...seen, refusal.culprit, ...refusal.holders]) {
      if (!isObject(object) || typeof object === "function" || data.has(object) || isCell(object)) continue;
      if (types.isProxy(object) || types.isModuleNamespaceObject(object) || types.isTypedArray(object)) continue;
      if ((Array.isArray(object) && object.length > LONGEST_LIST) || checks.length > MOST_OBJECTS) return undefined;
      checks.push(watchProperties(object));
      if (types.isMap(object) || types.isSet(object)) checks.push(watchEntries(object));
    }
    return { values: kept, isSame: () => checks.every((isSame) => isSame()) };
  }

  /** Keeps a refusal, as it was explained to the user. */
  keep({ values, isSame }: Refused, rootName: string, error: SerializationError): void {
    const key = values.find(isObject);
    if (key === undefined) return;
    const until = performance.now() + LONGEST;
    this.#kept.set(key, { values, rootName, error, isSame, rules: this.#port.rules?.(), until });
  }
}

/** What a refusal depends on. */
export type Refused = Pick<KeptRefusal, "values" | "isSame">;

/** True for a small tree of plain objects, arrays and primitives. Adds its objects to `found` if it is one. */
function isOnlyData(root: object, found: Set<object>): boolean {
  const visited = new Set<object>([root]);
  for (const object of visited) {
    if (visited.size > MOST_DATA || typeof object === "function" || types.isProxy(object)) return false;
    const prototype: unknown = Object.getPrototypeOf(object);
    if (prototype !== Object.prototype && prototype !== Array.prototype) return false;
    if (Array.isArray(object) && object.length > MOST_DATA) return false;
    for (const key of Reflect.ownKeys(object)) {
      const property = ownProperty(object, key);
      if (property === undefined || !("value" in property)) return false;
      if (isObject(property.value)) visited.add(property.value);
    }
  }
  for (const object of visited) found.add(object);
  return true;
}
