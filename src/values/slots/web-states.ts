import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter, ownProperty } from "../own-property.ts";
import type { InternalState } from "./internal-state.ts";

const hrefOf = builtInGetter(URL.prototype, "href");

function stringOf(params: object): string {
  return URLSearchParams.prototype.toString.call(params);
}

function entriesOf(headers: object): [string, string][] {
  const entries: [string, string][] = [];
  const add = (value: string, name: string): void => {
    entries.push([name, value]);
  };
  Reflect.apply(Headers.prototype.forEach, headers, [add]);
  return entries;
}

/** URLs. Their `searchParams` come along and stay tied to them. */
export const urlState: InternalState<URL> = {
  number: 11,
  is: (value): value is URL => isGenuine(value, "URL", hrefOf),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? URL.prototype : undefined),
  writeShell: (writer, url) => writer.string(String(hrefOf(url))),
  readShell(reader) {
    const href = reader.text();
    try {
      return new URL(href);
    } catch (error) {
      throw new MalformedPayload(`the payload holds an invalid URL: ${href}`, { cause: error });
    }
  },
  companion: (url) => url.searchParams,
};

/** Search parameters on their own. */
export const searchParamsState: InternalState<URLSearchParams> = {
  number: 12,
  is: (value): value is URLSearchParams => isGenuine(value, "URLSearchParams", stringOf),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? URLSearchParams.prototype : undefined),
  writeShell: (writer, params) => writer.string(stringOf(params)),
  readShell: (reader) => new URLSearchParams(reader.text()),
};

/** HTTP headers. */
export const headersState: InternalState<Headers> = {
  number: 13,
  is: (value): value is Headers => isGenuine(value, "Headers", entriesOf),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Headers.prototype : undefined),
  writeShell(writer, headers) {
    const entries = entriesOf(headers);
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
        throw new MalformedPayload(`the payload holds an invalid header: ${name}`, { cause: error });
      }
    }
    return headers;
  },
};

/** True when `value` inherits from the global class called `name`, which is not loaded for the question. */
function inherits(value: object, name: string): boolean {
  let prototype: object | null = Object.getPrototypeOf(value);
  for (; prototype !== null; prototype = Object.getPrototypeOf(prototype)) {
    const constructor = ownProperty(prototype, "constructor")?.value;
    if (typeof constructor !== "function" || constructor.name !== name) continue;
    if (Reflect.get(globalThis, name) === constructor) return true;
  }
  return false;
}

/** True when `value` inherits from a global class and `probe` finds the state of such an object. */
function isGenuine(value: object, name: string, probe: (value: object) => unknown): boolean {
  if (!inherits(value, name)) return false;
  try {
    probe(value);
    return true;
  } catch {
    return false;
  }
}
