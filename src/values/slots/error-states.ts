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

/** Errors: genuine ones with exactly the properties of the original, made without running a constructor of the user's. */
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
    // Errors of Node's own have accessors that only Node has.
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
 * internal to Node, such as its `AbortError`, arrives as what that class extends.
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

/** Makes the name that an error inherits one of its own, for when it loses its class. */
export function keepName(properties: KeyedProperty[], prototype: object | null): void {
  if (prototype === null || properties.some(({ key }) => key === "name")) return;
  const value: unknown = Reflect.get(prototype, "name");
  properties.push({ key: "name", property: { value, writable: true, enumerable: false, configurable: true } });
}

/** `DOMException`s, whose name and message are no properties of their own. */
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
    // Inherits from it, but is none.
    return false;
  }
}

/** An object with no own properties, and no time spent on a stack that would be replaced. */
function bare<T extends object>(make: () => T): T {
  const error = withStackLimit(0, make);
  for (const key of Reflect.ownKeys(error)) {
    if (!Reflect.deleteProperty(error, key))
      throw new MalformedPayload("an error has a property that cannot be removed");
  }
  return error;
}
