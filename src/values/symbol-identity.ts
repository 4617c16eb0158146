import { processId } from "./function-port.ts";

const ids = new WeakMap<symbol, string>();
const symbols = new Map<string, WeakRef<symbol>>();
const forgotten = new FinalizationRegistry<string>((id) => {
  if (symbols.get(id)?.deref() === undefined) symbols.delete(id);
});
let count = 0;

/** The id of a unique symbol, which it keeps wherever it goes. */
export function symbolId(symbol: symbol): string {
  const existing = ids.get(symbol);
  if (existing !== undefined) return existing;
  count += 1;
  const id = `${processId}:${count}`;
  adopt(symbol, id);
  return id;
}

/** The symbol with that id: the original at its origin, elsewhere the one that stands for it as long as it is in use. */
export function symbolWithId(id: string, description: string | undefined): symbol {
  const existing = symbols.get(id)?.deref();
  if (existing !== undefined) return existing;
  const symbol = Symbol(description);
  adopt(symbol, id);
  return symbol;
}

function adopt(symbol: symbol, id: string): void {
  ids.set(symbol, id);
  symbols.set(id, new WeakRef(symbol));
  forgotten.register(symbol, id);
}
