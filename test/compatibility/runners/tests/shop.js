/** A module of the project's own: state, an error class, and what uses both. */
export class OutOfStock extends Error {
  constructor(item, cause) {
    super(`no ${item} left`, { cause });
    this.name = "OutOfStock";
    this.item = item;
  }
}

export const prices = new Map([["tea", 3]]);

export function priceOf(item) {
  const price = prices.get(item);
  if (price === undefined) throw new OutOfStock(item, new RangeError("never heard of it"));
  return price;
}

let till;

export class Till {
  sales = [];
  static get() {
    till ??= new Till();
    return till;
  }
  sell(item) {
    this.sales.push(item);
    return this.sales.length;
  }
}

export const currentTill = () => till;
