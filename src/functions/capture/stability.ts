import { types } from "node:util";
import { knownLiveVariables } from "../engine/index.ts";
import { Cell, type Dismantled, isFunction, isRecord, type PlainData, type ShippingPolicy } from "../shipment/index.ts";
import { factsOf, hasFacts, onlyReads, usesAltered } from "../variables/index.ts";
import type { CapturedValue } from "./captured-values.ts";
import { STANDARD_KEYS } from "./describe-function.ts";
import { dismantleWithReason } from "./dismantle.ts";
import { variableCheck } from "./live-scopes.ts";
import { Borrowed, SharedExport } from "./references.ts";

/**
 * How a cached shipment of a function may become outdated. `constant`: never. `compare`: data that may have been
 * changed in place. `reread`: a variable that some code assigns to, so that the function must be taken apart again.
 */
export type Stability = "constant" | "compare" | "reread";

/**
 * How the shipment of a function may change before its next call. Only for the function itself: captured values have
 * their own stability. Throws `ShippingError` when the function cannot travel.
 */
export function stability(fn: object, policy: ShippingPolicy = {}): Stability {
  const { way, captured, shipment } = dismantleWithReason(fn, policy);
  if (way === "reference") return "constant";
  if (captured.some(({ isFixed }) => !isFixed)) return "reread";
  if (shipment.parts.some((part) => !isFixedValue(part, 0)) || hasOwnState(fn)) return "compare";
  if (hasPrivateStatics(shipment.head) || mayBeAltered(fn)) return "compare";
  return "constant";
}

/** Private static fields can be read only by taking the class apart again. */
function hasPrivateStatics(head: PlainData): boolean {
  return isRecord(head) && "privateStatics" in head;
}

function mayBeAltered(fn: object, isData?: (name: string) => boolean): boolean {
  return isFunction(fn) && hasFacts(fn) && usesAltered(factsOf(fn).site, isData);
}

/** True for a function with properties, such as static fields, that may be assigned to. */
function hasOwnState(fn: object): boolean {
  return Reflect.ownKeys(fn).some((key) => {
    if (STANDARD_KEYS.has(key)) return false;
    const value: unknown = Reflect.getOwnPropertyDescriptor(fn, key)?.value;
    return typeof value !== "function";
  });
}

const MAX_DEPTH = 8;

/** True for primitives, functions, references, and frozen data all the way down. */
function isFixedValue(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return true;
  if (value instanceof Borrowed || value instanceof SharedExport || types.isModuleNamespaceObject(value)) return true;
  if (depth === MAX_DEPTH || types.isProxy(value) || !Object.isFrozen(value) || isFunction(value)) return false;
  const prototype = Reflect.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype && prototype !== Array.prototype) return false;
  return Reflect.ownKeys(value).every((key) => {
    const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
    return descriptor !== undefined && "value" in descriptor && isFixedValue(descriptor.value, depth + 1);
  });
}

/** A captured variable that some code assigns to, and its value when the function was taken apart. */
export interface VariableReading {
  /** Its current value. */
  read(): unknown;
  readonly value: unknown;
}

/** The parts of a function's shipment that may change later. */
export interface FunctionState extends Pick<Dismantled, "early" | "parts"> {
  readonly way: "reference" | "value";
  /** The cells in its parts, for variables that functions share. */
  readonly cells: readonly Cell[];
  /** Undefined when the values are known only after taking it apart again. */
  readonly variables: readonly VariableReading[] | undefined;
  /** Its code assigns to a variable that it captured. */
  readonly assigns: boolean;
  /** The places of the parts that are data, or variables with data, which its code only reads. */
  readonly readOnly: ReadonlySet<number>;
  /** It has properties, or code in its file changes its properties. */
  readonly mayBeAltered: boolean;
}

/**
 * Takes a function apart, and returns what is needed to check later whether the result would be the same. Throws
 * `ShippingError`.
 */
export function functionState(fn: object, policy: ShippingPolicy = {}): FunctionState {
  const { way, captured, shipment } = dismantleWithReason(fn, policy);
  const { early, parts, head } = shipment;
  if (way === "reference") {
    return { way, early, parts, cells: [], variables: [], assigns: false, readOnly: NONE, mayBeAltered: false };
  }
  const changing = captured.filter(({ isFixed }) => !isFixed);
  const variables = hasPrivateStatics(head) ? undefined : readingsOf(fn, changing);
  const readOnly = readOnlyParts(fn, captured, shipment);
  return {
    way,
    early,
    parts,
    cells: changing.flatMap(({ value }) => (value instanceof Cell ? [value] : [])),
    variables,
    assigns: changing.some(({ name, kind }) => kind === "cell" && assignsTo(fn, name)),
    readOnly,
    mayBeAltered:
      hasOwnState(fn) ||
      hasPrivateStatics(head) ||
      mayBeAltered(fn, (name) => readOnly.has(shipment.labels.indexOf(name))),
  };
}

const NONE: ReadonlySet<number> = new Set();

function readOnlyParts(
  fn: object,
  captured: readonly CapturedValue[],
  { head, labels }: Dismantled,
): ReadonlySet<number> {
  if (!isFunction(fn) || !hasFacts(fn) || !isRecord(head)) return NONE;
  const { site } = factsOf(fn);
  const places = captured.map(({ name, value }) => {
    const place = labels.indexOf(name);
    const isRead = onlyReads(site, name, value instanceof Cell ? value.v : value);
    return isRead && place < Number(head["captured"]) ? place : -1;
  });
  return new Set(places.filter((place) => place >= 0));
}

/** Undefined when some of the variables cannot be read. */
function readingsOf(fn: object, changing: readonly CapturedValue[]): readonly VariableReading[] | undefined {
  const readings = changing.flatMap((each) => readingOf(fn, each) ?? []);
  return readings.length === changing.length ? readings : askedReading(fn, changing);
}

/** One reading for all variables of a function that the engine has to be asked about. */
function askedReading(fn: object, changing: readonly CapturedValue[]): readonly VariableReading[] | undefined {
  if (!isFunction(fn) || !hasFacts(fn)) return undefined;
  const { site } = factsOf(fn);
  if (changing.some(({ name }) => site.free.get(name)?.binding === undefined)) return undefined;
  const names = changing.map(({ name }) => name);
  const held = changing.map(({ value }) => (value instanceof Cell ? value.v : value));
  const isSame = variableCheck(fn, site, names, held);
  return isSame?.() === true ? [{ read: isSame, value: true }] : undefined;
}

/** Undefined for a variable that cannot be read in place, or for which another value travels. */
function readingOf(fn: object, { name, value }: CapturedValue): VariableReading | undefined {
  const cell = value instanceof Cell ? value : undefined;
  const access = knownLiveVariables(fn)?.get(name);
  const binding = isFunction(fn) && hasFacts(fn) ? factsOf(fn).site.free.get(name)?.binding : undefined;
  const isGlobal = access === undefined && binding === undefined && Object.hasOwn(globalThis, name);
  const read = isGlobal ? (): unknown => Reflect.get(globalThis, name) : access?.get;
  if (read === undefined) return undefined;
  const held = cell === undefined ? value : cell.v;
  return Object.is(read(), held) ? { read, value: held } : undefined;
}

function assignsTo(fn: object, name: string): boolean {
  const free = isFunction(fn) && hasFacts(fn) ? factsOf(fn).site.free.get(name) : undefined;
  return free === undefined || free.references.some(({ mode }) => mode !== "read");
}
