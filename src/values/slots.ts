import { arrayBufferSlot, viewSlot } from "./binary-slots.ts";
import { arraySlot, mapSlot, ordinarySlot, setSlot } from "./container-slots.ts";
import { domExceptionSlot, errorSlot } from "./error-slots.ts";
import type { Slot } from "./slot.ts";
import { boxSlot, dateSlot, regExpSlot } from "./value-slots.ts";
import { headersSlot, searchParamsSlot, urlSlot } from "./web-slots.ts";

/** Every kind of built-in state. The place in this list is the number in the payload: only ever append. */
const slots: readonly Slot[] = [
  ordinarySlot,
  arraySlot,
  mapSlot,
  setSlot,
  dateSlot,
  regExpSlot,
  boxSlot,
  errorSlot,
  domExceptionSlot,
  arrayBufferSlot,
  viewSlot,
  urlSlot,
  searchParamsSlot,
  headersSlot,
];

/** The number of objects without built-in state. */
export const ORDINARY = 0;

/** The number of the kind of state that `value` has. */
export function slotOf(value: object): number {
  // Some versions of Node.js count a DOMException among the errors.
  if (domExceptionSlot.is(value)) return slots.indexOf(domExceptionSlot);
  const found = slots.findIndex((slot, index) => index !== ORDINARY && slot.is(value));
  return found < 0 ? ORDINARY : found;
}

/** The kind of state with this number. */
export function slotAt(number: number): Slot | undefined {
  return slots[number];
}
