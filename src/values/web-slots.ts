import { MalformedPayload } from "./malformed-payload.ts";
import type { Slot } from "./slot.ts";

/** URLs. Their `searchParams` come along and stay tied to them. */
export const urlSlot: Slot<URL> = {
  is: (value): value is URL => isGenuine(value, "URL", "href"),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? URL.prototype : undefined),
  writeShell: (writer, url) => writer.string(String(read(URL.prototype, "href", url))),
  readShell(reader) {
    const href = reader.text();
    try {
      return new URL(href);
    } catch (error) {
      throw new MalformedPayload(`The payload holds a URL that is none: ${href}`, { cause: error });
    }
  },
  companion: (url) => url.searchParams,
};

/** Search parameters on their own. */
export const searchParamsSlot: Slot<URLSearchParams> = {
  is: (value): value is URLSearchParams => isGenuine(value, "URLSearchParams", "size"),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? URLSearchParams.prototype : undefined),
  writeShell: (writer, params) => writer.string(URLSearchParams.prototype.toString.call(params)),
  readShell: (reader) => new URLSearchParams(reader.text()),
};

/** HTTP headers. */
export const headersSlot: Slot<Headers> = {
  is: (value): value is Headers => inherits(value, "Headers") && hasEntries(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Headers.prototype : undefined),
  writeShell(writer, headers) {
    const entries = [...Headers.prototype.entries.call(headers)];
    writer.varint(entries.length);
    for (const [name, value] of entries) {
      writer.string(name);
      writer.string(value);
    }
  },
  readShell(reader) {
    const headers = new Headers();
    for (let left = reader.count(2); left > 0; left--) {
      const name = reader.text();
      const value = reader.text();
      try {
        headers.append(name, value);
      } catch (error) {
        throw new MalformedPayload(`The payload holds a header that is none: ${name}`, { cause: error });
      }
    }
    return headers;
  },
};

/** True when `value` inherits from the global class called `name`, which is not loaded for the question. */
function inherits(value: object, name: string): boolean {
  let prototype: object | null = Object.getPrototypeOf(value);
  for (; prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    const constructor: unknown = Object.getOwnPropertyDescriptor(prototype, "constructor")?.value;
    if (typeof constructor !== "function" || constructor.name !== name) continue;
    if (Reflect.get(globalThis, name) === constructor) return true;
  }
  return false;
}

/** True when `value` inherits from a global class and has the state behind its getters. */
function isGenuine(value: object, name: string, property: string): boolean {
  if (!inherits(value, name)) return false;
  const prototype: unknown = Reflect.get(Reflect.get(globalThis, name), "prototype");
  try {
    read(prototype, property, value);
    return true;
  } catch {
    return false;
  }
}

function hasEntries(value: object): boolean {
  try {
    Reflect.apply(Headers.prototype.has, value, ["x"]);
    return true;
  } catch {
    return false;
  }
}

function read(prototype: unknown, property: string, value: object): unknown {
  if (typeof prototype !== "object" || prototype === null) return undefined;
  return Object.getOwnPropertyDescriptor(prototype, property)?.get?.call(value);
}
