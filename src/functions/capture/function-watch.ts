import { liveVariables } from "../engine/index.ts";
import {
  type AnyFunction,
  type ChangeCheck,
  isFunction,
  isNotedConstructor,
  isRecord,
  overridesVersion,
  revivedSource,
  type ShippingPolicy,
  watchProperties,
} from "../shipment/index.ts";
import { factsOf, hasFacts } from "../variables/index.ts";
import { isOverBudget, packageOf } from "./capture-budget.ts";
import type { CapturedValue } from "./captured-values.ts";
import { examined, previewOf } from "./dismantle.ts";
import { functionState } from "./stability.ts";
import { examinedMembers } from "./weak-methods.ts";

const SAME: ChangeCheck = () => true;
/** Kinds of functions that stay the same while their properties and their variables do. */
const WATCHED_KINDS: ReadonlySet<unknown> = new Set(["function", "bound", "class"]);
/** To make an accessor takes a fifth of a millisecond. */
const MOST_ACCESSORS = 30;

/**
 * Whether a function, which the capture under way has taken apart, would give the same again; undefined when nothing
 * tells. What it captured has to be watched by itself.
 */
export function watchFunction(fn: object, policy: ShippingPolicy = {}): ChangeCheck | undefined {
  return new FunctionWatch(false).watch(fn, policy);
}

/** Changes whenever functions may travel in another way for a reason that is not in them. */
export function rulesVersion({ unavailable }: ShippingPolicy): string {
  return `${overridesVersion()}.${unavailable?.size ?? 0}`;
}

/**
 * Whether the functions and the objects that the capture under way has looked at are the same, after it has refused one
 * function too many; undefined when nothing tells, and after other refusals. Variables that only code of packages
 * assigns to are not looked at: there may be hundreds, and each takes a tenth of a millisecond.
 */
export function watchExamined(): ChangeCheck | undefined {
  if (!isOverBudget()) return undefined;
  const watch = new FunctionWatch(true);
  const checks: ChangeCheck[] = examinedMembers().map(watchProperties);
  for (const [fn, policy] of examined()) {
    const check = watch.watch(fn, policy);
    if (check === undefined) return undefined;
    if (check !== SAME) checks.push(check);
  }
  return () => checks.every((isSame) => isSame());
}

class FunctionWatch {
  readonly #leavesPackages: boolean;
  #accessors = 0;

  /** @param leavesPackages - whether the variables of functions of packages need not be watched */
  constructor(leavesPackages: boolean) {
    this.#leavesPackages = leavesPackages;
  }

  watch(fn: object, policy: ShippingPolicy): ChangeCheck | undefined {
    const result = previewOf(fn, policy);
    if (result.way === "reference") return SAME;
    if (!isFunction(fn) || revivedSource(fn) !== undefined) return undefined;
    const isLeft = this.#leavesPackages && hasFacts(fn) && packageOf(factsOf(fn).site.file.script.url) !== undefined;
    const { head } = result.shipment;
    const isUsual = isRecord(head) && WATCHED_KINDS.has(head["kind"]) && !("home" in head || "privateStatics" in head);
    if (!isLeft && !isUsual) return undefined;
    const variables = isLeft ? [] : this.#variables(fn, result.captured, policy);
    if (variables === undefined) return undefined;
    const prototype: unknown = Reflect.getOwnPropertyDescriptor(fn, "prototype")?.value;
    const own = typeof prototype === "object" && prototype !== null ? [fn, prototype] : [fn];
    const checks = [...own.map(watchProperties), ...variables];
    const constructs = isNotedConstructor(fn);
    return () => isNotedConstructor(fn) === constructs && checks.every((isSame) => isSame());
  }

  /** Undefined when a variable cannot be read in place. */
  #variables(fn: object, captured: readonly CapturedValue[], policy: ShippingPolicy): ChangeCheck[] | undefined {
    if (!isFunction(fn) || captured.every(({ isFixed }) => isFixed)) return [];
    if (!hasFacts(fn)) return undefined;
    let { variables } = functionState(fn, policy);
    if (variables === undefined) {
      this.#accessors += 1;
      if (this.#accessors > MOST_ACCESSORS || !makeReadable(fn, captured)) return undefined;
      variables = functionState(fn, policy).variables;
    }
    return variables?.map(
      ({ read, value }) =>
        () =>
          Object.is(read(), value),
    );
  }
}

/** Makes accessors for the variables of a function that may change; false when it cannot be entered. */
function makeReadable(fn: AnyFunction, captured: readonly CapturedValue[]): boolean {
  const { site } = factsOf(fn);
  const inScopes = captured.filter(({ name, isFixed }) => !isFixed && site.free.get(name)?.binding !== undefined);
  const names = inScopes.map(({ name }) => name);
  return names.length > 0 && liveVariables(fn, site, names) !== undefined;
}
