import { types } from "node:util";
import { isObject } from "../../checks/index.ts";
import { SerializationError } from "../../errors.ts";
import { arrayIndex } from "../array-index.ts";
import { type FunctionPort, isCell } from "../function-port.ts";
import type { Omissions, PropertyChanges } from "../omissions.ts";
import { ownProperty } from "../own-property.ts";
import { internalStateOf } from "../slots/index.ts";
import { travellerKind, travellerKindOf } from "../traveller.ts";
import type { ValueRefusal } from "../value-refusal.ts";
import { bundleAdvice } from "./bundle-advice.ts";
import { workerAdvice } from "./worker-advice.ts";

interface Step {
  readonly value: unknown;
  readonly from: Step | undefined;
  readonly label: string;
  /** The own property of `from` that leads here, if one does. */
  readonly key: string | symbol | undefined;
  /** Reached through a captured variable of a function. */
  readonly captured: boolean;
}

/** The name of the list of arguments in paths. */
const ARGUMENTS = "args";

/** Turns a refusal into the error for the user: where in `root` the value is, why it cannot travel, and the fix. */
export function explainRefusal(
  refusal: ValueRefusal,
  root: unknown,
  rootName: string,
  port: FunctionPort,
  omissions?: PropertyChanges,
): SerializationError {
  const { path, reason, fix } = locateRefusal(refusal, root, rootName, port, false, omissions);
  const cause = refusal.cause === undefined ? undefined : { cause: refusal.cause };
  return new SerializationError(`${path}: ${reason}. ${fix}`, path, cause);
}

/**
 * Where in `root` the refused value is, the reason, and the fix.
 *
 * @param isCaptured - whether a function captured `root`, default false
 */
export function locateRefusal(
  refusal: ValueRefusal,
  root: unknown,
  rootName: string,
  port: FunctionPort,
  isCaptured = false,
  omissions?: PropertyChanges,
): { path: string; reason: string; fix: string } {
  const found = findStep(root, refusal.culprit, port, omissions);
  const segments = refusal.steps.map((step) => ` -> ${step}`);
  const path = (found === undefined ? rootName : pathTo(found, rootName, isCaptured)) + segments.join("");
  const advice = bundleAdvice(found === undefined ? [refusal.culprit, root] : valuesUpFrom(found));
  // The user cannot change the code of a package.
  const own = advice === "" ? workerAdvice(refusal, found, port, rootName === ARGUMENTS) : advice;
  return { path, reason: refusal.message, fix: sentence(refusal.fix) + own };
}

/**
 * Leaves out the property that leads to the refused value: the nearest one of an error or a plain object. No other
 * object works without one of its parts. False when there is no such property.
 */
export function omitRefused(
  refusal: ValueRefusal,
  root: object,
  rootName: string,
  port: FunctionPort,
  omissions: Omissions,
): boolean {
  const found = findStep(root, refusal.culprit, port, omissions);
  const { culprit, key } = refusal;
  if (found !== undefined && key !== undefined && isObject(culprit) && canLackProperties(culprit)) {
    omissions.add(culprit, key, pathTo(found, rootName, false) + labelOf(culprit, key));
    return true;
  }
  let step = found;
  for (; step?.from !== undefined; step = step.from) {
    const holder = step.from.value;
    if (step.key === undefined || !isObject(holder) || !canLackProperties(holder)) continue;
    // The whole property is left out, whether its getter or its setter was refused.
    omissions.add(holder, step.key, pathTo(step, rootName, false).replace(/ \((?:getter|setter)\)$/, ""));
    return true;
  }
  return false;
}

/** The field of the receiver of a method that leads to the refused value; undefined when none does. */
export function refusedField(
  refusal: ValueRefusal,
  receiver: object,
  port: FunctionPort,
  changes: PropertyChanges,
): string | symbol | undefined {
  for (let step = findStep(receiver, refusal.culprit, port, changes); step?.from !== undefined; step = step.from) {
    if (step.from.from === undefined) return step.key;
  }
  return undefined;
}

function canLackProperties(holder: object): boolean {
  if (types.isNativeError(holder)) return true;
  const prototype: object | null = Object.getPrototypeOf(holder);
  return (prototype === Object.prototype || prototype === null) && !isCell(holder);
}

function* valuesUpFrom(end: Step): Generator<unknown> {
  for (let step: Step | undefined = end; step !== undefined; step = step.from) yield step.value;
}

/**
 * The shortest path to `culprit`, through private fields only if there is no other. The writer does not track paths, so
 * only failures cost time.
 */
function findStep(
  root: unknown,
  culprit: WeakKey,
  port: FunctionPort,
  omissions: PropertyChanges | undefined,
): Step | undefined {
  const queue: Step[] = [{ value: root, from: undefined, label: "", key: undefined, captured: false }];
  const visited = new Set<object>();
  const withPrivates: (() => void)[] = [];
  for (let index = 0; index < queue.length; index++) {
    const step = queue[index];
    if (step !== undefined && isObject(step.value)) {
      if (step.value === culprit) return step;
      if (!visited.has(step.value)) {
        visited.add(step.value);
        const follow = followerOf(step, step.value, queue, omissions);
        const isInstance = !types.isProxy(step.value) && followAll(step.value, port, follow);
        const instance = step.value;
        if (isInstance) withPrivates.push(() => followPrivates(instance, port, follow));
      }
    }
    // Looking for private fields parses the file of each class: a quarter of the time for a value of mathjs.
    if (index + 1 === queue.length) for (const followFields of withPrivates.splice(0)) followFields();
  }
  return undefined;
}

function followerOf(from: Step, holder: object, queue: Step[], omissions: PropertyChanges | undefined): Follow {
  return (label, value, key) => {
    if (!isObject(value) || (key !== undefined && omissions?.has(holder, key) === true)) return;
    queue.push({ value, from, label, key, captured: typeof holder === "function" });
  };
}

/** `args[0].socket`; from the first function on, `args[0] -> client -> socket`. */
function pathTo(end: Step, rootName: string, isCaptured: boolean): string {
  const steps: Step[] = [];
  for (let step: Step | undefined = end; step?.from !== undefined; step = step.from) steps.unshift(step);
  let path = rootName;
  let captured = isCaptured;
  for (const step of steps) {
    captured ||= step.captured;
    // The value of a shared variable has the name of the variable.
    if (step.label === "") continue;
    path += captured ? ` -> ${step.label.replace(/^[. ]/, "")}` : step.label;
  }
  return path;
}

type Follow = (label: string, value: unknown, key?: string | symbol) => void;

/** Follows everything that leads on from a value, except private fields. True for an object that may have those. */
function followAll(value: object, port: FunctionPort, follow: Follow): boolean {
  const kind = travellerKindOf(value);
  if (kind !== undefined) {
    followTraveller(value, kind, port, follow);
    return false;
  }
  if (typeof value === "function") {
    followFunction(value, port, follow);
    return false;
  }
  if (isCell(value)) {
    follow("", value.v);
    return false;
  }
  for (const lead of leadsOf(value)) follow(lead.label, lead.value);
  if (types.isMap(value)) followMap(value, follow);
  if (types.isSet(value))
    [...Set.prototype.values.call(value)].forEach((item, index) => follow(`.values()[${index}]`, item));
  if (!types.isArrayBufferView(value)) followProperties(value, follow);
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return false;
  follow(".constructor", ownProperty(prototype, "constructor")?.value);
  follow(".__proto__", prototype);
  return true;
}

function followTraveller(value: object, kind: string, port: FunctionPort, follow: Follow): void {
  try {
    travellerKind(kind)
      ?.take(value, port)
      .forEach((part, index) => follow(`.${kind}[${index}]`, part));
  } catch {
    // A traveller that is refused itself leads nowhere.
  }
}

function leadsOf(value: object): readonly { readonly label: string; readonly value: unknown }[] {
  try {
    return internalStateOf(value).leads?.(value) ?? [];
  } catch {
    // Invisible state leads nowhere.
    return [];
  }
}

function followPrivates(value: object, port: FunctionPort, follow: Follow): void {
  try {
    for (const { owner, names, values } of port.privatesOf(value)) {
      follow(".constructor", owner);
      names.forEach((name, index) =>
        follow(name.startsWith("@") ? ` (in ${name.replace(/^.*[ >]/, "")})` : `.#${name}`, values[index]),
      );
    }
  } catch {
    // Unavailable private fields lead nowhere.
  }
}

function followFunction(fn: object, port: FunctionPort, follow: Follow): void {
  try {
    const { early, parts, labels } = port.dismantle(fn);
    early.forEach((value) => follow("extends", value));
    parts.forEach((value, index) => follow(labels[index] ?? "", value));
  } catch {
    // A function that cannot be taken apart leads nowhere. If it is the culprit, it has been found already.
  }
}

function followMap(map: object, follow: Follow): void {
  let index = 0;
  Map.prototype.forEach.call(map, (value: unknown, key: unknown) => {
    follow(`.keys()[${index}]`, key);
    follow(typeof key === "string" ? `.get(${JSON.stringify(key)})` : `.values()[${index}]`, value);
    index++;
  });
}

function followProperties(object: object, follow: Follow): void {
  for (const key of Reflect.ownKeys(object)) {
    const property = ownProperty(object, key);
    if (property === undefined) continue;
    const label = labelOf(object, key);
    follow(label, property.value, key);
    follow(`${label} (getter)`, property.get, key);
    follow(`${label} (setter)`, property.set, key);
  }
}

function labelOf(object: object, key: string | symbol): string {
  if (typeof key === "symbol") return `[${String(key)}]`;
  if (Array.isArray(object) && arrayIndex(key) >= 0) return `[${key}]`;
  // Made here: a worker that explains nothing does not load the tables of ICU for it. See `LONE_SURROGATE`.
  return /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
}
