/** The step of a path from an object to its prototype. */
export const INHERITED = "__proto__";

/** True for a path to a prototype, or to its class, through an instance. */
export function isByInstance(path: readonly string[]): boolean {
  return path.includes(INHERITED);
}

/** The unique symbols that are keys of an object, by their name in a path. Symbols that share a description are left out. */
export function symbolsOf(holder: object): Map<string, symbol> {
  const found = new Map<string, symbol>();
  const twice = new Set<string>();
  for (const symbol of Object.getOwnPropertySymbols(holder)) {
    const step = String(symbol);
    if (found.has(step)) twice.add(step);
    if (Symbol.keyFor(symbol) === undefined && !WELL_KNOWN.has(symbol)) found.set(step, symbol);
  }
  for (const step of twice) found.delete(step);
  return found;
}

const WELL_KNOWN: ReadonlySet<unknown> = new Set(
  Object.getOwnPropertyNames(Symbol).map((name) => Reflect.get(Symbol, name)),
);

/** The result of one step of a path from an object: a property, or the symbol of that name among its keys. */
export function stepFrom(holder: object, step: string): unknown {
  const isOfSymbol = step.startsWith("Symbol(") && !(step in holder);
  return isOfSymbol ? symbolsOf(holder).get(step) : Reflect.get(holder, step);
}
