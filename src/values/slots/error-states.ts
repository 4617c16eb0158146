import { types } from "node:util";
import { withStackLimit } from "../../checks/index.ts";
import { MalformedPayload } from "../bytes/index.ts";
import { type FunctionPort, ShippingError } from "../function-port.ts";
import { builtInGetter, constructorOf, ownProperty } from "../own-property.ts";
import { isEngineStack } from "./engine-stack.ts";
import type { InternalState } from "./internal-state.ts";
import type { KeyedProperty } from "./properties.ts";

const families: readonly object[] = [
  Error.prototype,
  EvalError.prototype,
  RangeError.prototype,
  ReferenceError.prototype,
  SyntaxError.prototype,
  TypeError.prototype,
  URIError.prototype,
  AggregateError.prototype,
];

/** Errors: genuine ones with exactly the properties of the original, made without running a user's constructor. */
export const errorState: InternalState<Error> = {
  number: 7,
  is: (value): value is Error => types.isNativeError(value),
  variant: (_error, prototype) => Math.max(0, prototype === null ? 0 : families.indexOf(prototype)),
  prototype: (variant) => families[variant],
  writeShell: () => {},
  readShell(_reader, variant) {
    const error = bare(() => new Error());
    if (variant > 0) Object.setPrototypeOf(error, families[variant] ?? null);
    return error;
  },
  present(port, error, key, property) {
    // Some errors of Node.js have accessors that cannot travel.
    if (!("get" in property) || isEngineStack(property) || canTravel(port, property.get)) return property;
    const value: unknown = Reflect.get(error, key);
    return { value, writable: true, enumerable: property.enumerable ?? false, configurable: true };
  },
};

const known = new WeakSet<object>();

function canTravel(port: FunctionPort, fn: unknown): boolean {
  if (typeof fn !== "function" || known.has(fn)) return true;
  try {
    port.dismantle(fn);
  } catch (error) {
    if (error instanceof ShippingError) return false;
    throw error;
  }
  known.add(fn);
  return true;
}

/**
 * The prototype under which an error travels: its own, or the nearest whose class can. An error of a class that is
 * internal to Node, such as its `AbortError`, arrives as an instance of the class that it extends.
 */
export function travellingPrototype(port: FunctionPort, prototype: object | null): object | null {
  for (let shown = prototype; shown !== null; shown = Object.getPrototypeOf(shown)) {
    if (families.includes(shown)) return shown;
    const constructor = constructorOf(shown);
    const functions = constructor === undefined ? functionsOf(shown) : [constructor];
    if (functions.every((fn) => canTravel(port, fn))) return shown;
  }
  return prototype;
}

function functionsOf(prototype: object): unknown[] {
  return Reflect.ownKeys(prototype).flatMap((key) => {
    const { value, get, set } = ownProperty(prototype, key) ?? {};
    return [value, get, set].filter((held) => typeof held === "function");
  });
}

/** Turns the inherited name of an error into an own property, for an error that loses its class. */
export function keepName(properties: KeyedProperty[], prototype: object | null): void {
  if (prototype === null || properties.some(({ key }) => key === "name")) return;
  const value: unknown = Reflect.get(prototype, "name");
  properties.push({ key: "name", property: { value, writable: true, enumerable: false, configurable: true } });
}

/** `DOMException`s. Their name and message are not own properties. */
export const domExceptionState: InternalState<DOMException> = {
  number: 8,
  is: isDomException,
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? DOMException.prototype : undefined),
  writeShell(writer, exception) {
    writer.string(String(builtInGetter(DOMException.prototype, "message")(exception)));
    writer.string(String(builtInGetter(DOMException.prototype, "name")(exception)));
  },
  readShell(reader) {
    const message = reader.text();
    const name = reader.text();
    return bare(() => new DOMException(message, name));
  },
};

function isDomException(value: object): value is DOMException {
  if (!Object.prototype.isPrototypeOf.call(DOMException.prototype, value)) return false;
  try {
    builtInGetter(DOMException.prototype, "message")(value);
    return true;
  } catch {
    // It inherits from DOMException, but is not one.
    return false;
  }
}

/** An object without own properties. No time is spent on a stack that would be replaced. */
function bare<T extends object>(make: () => T): T {
  const error = withStackLimit(0, make);
  for (const key of Reflect.ownKeys(error)) {
    if (!Reflect.deleteProperty(error, key))
      throw new MalformedPayload("an error has a property that cannot be removed");
  }
  return error;
}
