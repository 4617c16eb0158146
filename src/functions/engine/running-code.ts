import { captureNumber } from "./variable-marks.ts";

let seen: { readonly capture: number; readonly urls: ReadonlySet<string> | undefined } | undefined;

/** False when certainly no function of the script with this URL is running, below the runtime itself. */
export function mayBeRunning(url: string): boolean {
  if (url === "") return true;
  const capture = captureNumber();
  if (capture === undefined) return urlsOnStack()?.has(url) ?? true;
  // The code below a capture stays the same until its end.
  if (seen?.capture !== capture) seen = { capture, urls: urlsOnStack() };
  return seen.urls?.has(url) ?? true;
}

/** The URLs of all scripts on the stack; undefined when the engine does not show them. */
function urlsOnStack(): ReadonlySet<string> | undefined {
  const limit = Reflect.getOwnPropertyDescriptor(Error, "stackTraceLimit");
  const prepare = Reflect.getOwnPropertyDescriptor(Error, "prepareStackTrace");
  try {
    Object.defineProperty(Error, "stackTraceLimit", { value: Number.POSITIVE_INFINITY, ...CHANGEABLE });
    Object.defineProperty(Error, "prepareStackTrace", { value: (_: unknown, sites: unknown) => sites, ...CHANGEABLE });
    const sites: unknown = new Error("the stack").stack;
    return Array.isArray(sites) ? new Set(sites.map(urlOf)) : undefined;
  } catch {
    // The program has frozen the class.
    return undefined;
  } finally {
    restore("stackTraceLimit", limit);
    restore("prepareStackTrace", prepare);
  }
}

const CHANGEABLE = { writable: true, enumerable: true, configurable: true };

function restore(key: string, descriptor: PropertyDescriptor | undefined): void {
  if (descriptor === undefined) Reflect.deleteProperty(Error, key);
  else Reflect.defineProperty(Error, key, descriptor);
}

function urlOf(site: NodeJS.CallSite): string {
  const url = site.getScriptNameOrSourceURL() ?? "";
  return url.startsWith("/") ? `file://${url}` : url;
}
