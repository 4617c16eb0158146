import { types } from "node:util";
import { knownLiveVariables } from "../engine/index.ts";
import { Cell, type Dismantled, isFunction, isRecord, type PlainData, type ShippingPolicy } from "../shipment/index.ts";
import { onlyReads } from "../variables/index.ts";
import { usesAltered } from "./altered-functions.ts";
import type { CapturedValue } from "./captured-values.ts";
import { dismantleWithReason } from "./dismantle.ts";
import { factsOf, hasFacts } from "./function-facts.ts";
import { Borrowed, SharedExport } from "./references.ts";

/**
 * What a cached shipment of a function depends on. `constant`: nothing that can change. `compare`: data that may have
 * been changed in place. `reread`: a variable that some code assigns to, so that the function must be taken apart again.
 */
export type Stability = "constant" | "compare" | "reread";

const STANDARD_KEYS: ReadonlySet<string | symbol> = new Set(["length", "name", "prototype", "arguments", "caller"]);

/**
 * How the shipment of a function may be another one at its next call, as far as the function itself is concerned: what
 * it captured has a stability of its own. Throws `ShippingError` when the function cannot travel.
 */
export function stability(fn: object, policy: ShippingPolicy = {}): Stability {
  const { way, captured, shipment } = dismantleWithReason(fn, policy);
  if (way === "reference") return "constant";
  if (captured.some(({ isFixed }) => !isFixed)) return "reread";
  if (shipment.parts.some((part) => !isFixedValue(part, 0)) || hasOwnState(fn)) return "compare";
  if (hasPrivateStatics(shipment.head) || mayBeAltered(fn)) return "compare";
  return "constant";
}

/** Only a class itself shows what they are, each time that it is taken apart. */
function hasPrivateStatics(head: PlainData): boolean {
  return isRecord(head) && "privateStatics" in head;
}

function mayBeAltered(fn: object, isData?: (name: string) => boolean): boolean {
  return isFunction(fn) && hasFacts(fn) && usesAltered(factsOf(fn).site, isData);
}

/** Static fields, properties of a function: what may be assigned to on the function object itself. */
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

/** A captured variable that some code assigns to, and what it held when the function was taken apart. */
export interface VariableReading {
  /** What it holds now. */
  read(): unknown;
  readonly value: unknown;
}

/** What the shipment of a function was made of, as far as it may be another one later. */
export interface FunctionState extends Pick<Dismantled, "early" | "parts"> {
  readonly way: "reference" | "value";
  /** What stands in its parts for the variables that functions share. */
  readonly cells: readonly Cell[];
  /** Undefined when only taking it apart again tells what they hold. */
  readonly variables: readonly VariableReading[] | undefined;
  /** Its code assigns to a variable that it captured. */
  readonly assigns: boolean;
  /** The places of the parts that are data, or variables with data, which its code only reads. */
  readonly readOnly: ReadonlySet<number>;
  /** It has properties, or code near it changes what it consists of. */
  readonly mayBeAltered: boolean;
}

/** Takes a function apart and tells how to find out whether that would give the same again. Throws `ShippingError`. */
export function functionState(fn: object, policy: ShippingPolicy = {}): FunctionState {
  const { way, captured, shipment } = dismantleWithReason(fn, policy);
  const { early, parts, head } = shipment;
  if (way === "reference") {
    return { way, early, parts, cells: [], variables: [], assigns: false, readOnly: NONE, mayBeAltered: false };
  }
  const changing = captured.filter(({ isFixed }) => !isFixed);
  const readings = changing.map((each) => readingOf(fn, each));
  const readOnly = readOnlyParts(fn, captured, shipment);
  const isReadable = !hasPrivateStatics(head) && readings.every((reading) => reading !== undefined);
  return {
    way,
    early,
    parts,
    cells: changing.flatMap(({ value }) => (value instanceof Cell ? [value] : [])),
    variables: isReadable ? readings.filter((reading) => reading !== undefined) : undefined,
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

/** Undefined for a variable that cannot be read where it is, or for which something else travels. */
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
