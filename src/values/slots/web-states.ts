import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter } from "../own-property.ts";
import type { InternalState } from "./internal-state.ts";
import { succeeds } from "./platform-class.ts";

const hrefOf = builtInGetter(URL.prototype, "href");
const searchParamsOf = builtInGetter(URL.prototype, "searchParams");

function paramsOf(url: URL): object {
  return Object(searchParamsOf(url));
}

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

/** The search parameters of a URL come with it, or have come before it. */
const PARAMS_WITH_IT = 0;
const PARAMS_BEFORE_IT = 1;

/** The URLs of search parameters that have arrived before their own URL. */
const carriers = new WeakMap<object, URL>();

/** URLs. Their `searchParams` travel with them and stay tied to them. */
export const urlState: InternalState<URL> = {
  number: 11,
  is: (value): value is URL => succeeds(() => hrefOf(value)),
  variant: (url, _prototype, writer) => (writer.isKnown(paramsOf(url)) ? PARAMS_BEFORE_IT : PARAMS_WITH_IT),
  prototype: (variant) => (variant <= PARAMS_BEFORE_IT ? URL.prototype : undefined),
  writeShell(writer, url) {
    writer.string(String(hrefOf(url)));
    if (writer.isKnown(paramsOf(url))) writer.value(paramsOf(url));
  },
  readShell(reader, variant) {
    const href = reader.text();
    try {
      if (variant === PARAMS_WITH_IT) return new URL(href);
      const url = carrierOf(reader.value());
      url.href = href;
      return url;
    } catch (error) {
      if (error instanceof MalformedPayload) throw error;
      throw new MalformedPayload(`the payload holds an invalid URL: ${href}`, { cause: error });
    }
  },
  summary: (url) => hrefOf(url),
  companion: (url, variant) => (variant === PARAMS_WITH_IT ? paramsOf(url) : undefined),
};

/** Search parameters. Those of a URL that comes later are tied to it then. */
export const searchParamsState: InternalState<URLSearchParams> = {
  number: 12,
  is: (value): value is URLSearchParams => succeeds(() => stringOf(value)),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? URLSearchParams.prototype : undefined),
  writeShell: (writer, params) => writer.string(stringOf(params)),
  summary: stringOf,
  readShell(reader) {
    const carrier = new URL("carrier:");
    carrier.search = reader.text();
    carriers.set(carrier.searchParams, carrier);
    return carrier.searchParams;
  },
};

/** HTTP headers. */
export const headersState: InternalState<Headers> = {
  number: 13,
  is: (value): value is Headers => succeeds(() => entriesOf(value)),
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
  summary: (headers) => JSON.stringify(entriesOf(headers)),
};

function carrierOf(params: unknown): URL {
  const carrier = typeof params === "object" && params !== null ? carriers.get(params) : undefined;
  if (carrier === undefined)
    throw new MalformedPayload("the search parameters of a URL in the payload are not search parameters");
  // They belong to one URL only.
  carriers.delete(carrier.searchParams);
  return carrier;
}
