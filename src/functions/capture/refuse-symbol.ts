import { ShippingError, type ShippingPolicy } from "../shipment/index.ts";
import { foreignClassOf } from "./references.ts";

/**
 * Throws `ShippingError` for an instance of a class that the receiver loads by itself, if it has something under a unique
 * symbol: the class that is there has a symbol of its own, and would find nothing.
 */
export function refuseSymbol(instance: object, symbol: symbol, policy: ShippingPolicy = {}): void {
  const cls = foreignClassOf(instance, policy);
  if (cls === undefined) return;
  throw new ShippingError(
    `is an instance of "${cls.path.join(".")}" of "${cls.title}", which each process loads by itself, and keeps ` +
      `something under ${String(symbol)}, which is another symbol there`,
    [],
    "send plain data and make the instance from it there",
  );
}
