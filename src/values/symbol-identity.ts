import { PortableIds } from "./function-port.ts";

const symbols = new PortableIds<symbol>();

/** The id of a unique symbol, which it keeps wherever it goes. */
export function symbolId(symbol: symbol): string {
  return symbols.identify(symbol);
}

/** The symbol with that id: the original at its origin, elsewhere the one that stands for it as long as it is in use. */
export function symbolWithId(id: string, description: string | undefined): symbol {
  const existing = symbols.find(id);
  if (existing !== undefined) return existing;
  const symbol = Symbol(description);
  symbols.adopt(symbol, id);
  return symbol;
}
