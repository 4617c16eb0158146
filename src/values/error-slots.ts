import { types } from "node:util";
import { MalformedPayload } from "./malformed-payload.ts";
import type { Slot } from "./slot.ts";

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
export const errorSlot: Slot<Error> = {
  is: (value): value is Error => types.isNativeError(value),
  variant: (_error, prototype) => Math.max(0, prototype === null ? 0 : families.indexOf(prototype)),
  prototype: (variant) => families[variant],
  writeShell: () => {},
  readShell(_reader, variant) {
    const error = bare(() => new Error());
    if (variant > 0) Object.setPrototypeOf(error, families[variant] ?? null);
    return error;
  },
};

/** `DOMException`s, whose name and message are no properties of their own. */
export const domExceptionSlot: Slot<DOMException> = {
  is: isDomException,
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? DOMException.prototype : undefined),
  writeShell(writer, exception) {
    writer.string(String(getter("message")?.call(exception)));
    writer.string(String(getter("name")?.call(exception)));
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
    getter("message")?.call(value);
    return true;
  } catch {
    // Inherits from it, but is none.
    return false;
  }
}

function getter(name: string): (() => unknown) | undefined {
  return Object.getOwnPropertyDescriptor(DOMException.prototype, name)?.get;
}

/** An object with no own properties, and no time spent on a stack that would be replaced. */
function bare<T extends object>(make: () => T): T {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 0;
  try {
    const error = make();
    for (const key of Reflect.ownKeys(error)) {
      if (!Reflect.deleteProperty(error, key)) throw new MalformedPayload("An error has a property that stays.");
    }
    return error;
  } finally {
    Error.stackTraceLimit = limit;
  }
}
