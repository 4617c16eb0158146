import dayjs from "dayjs";

/** A second module: an error class, state, and a bundled package. */
export class OutOfStock extends Error {
  constructor(item) {
    super(`no ${item} left`);
    this.item = item;
  }
}

const prices = new Map([["tea", 3]]);

export async function priceOf(item) {
  const price = prices.get(item);
  if (price === undefined) throw new OutOfStock(item);
  return price;
}

export async function dayAfter(day) {
  return dayjs(day).add(1, "day").format("YYYY-MM-DD");
}
