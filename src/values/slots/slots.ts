import { arrayBufferSlot, viewSlot } from "./binary-slots.ts";
import { arraySlot, mapSlot, ordinarySlot, setSlot } from "./container-slots.ts";
import { domExceptionSlot, errorSlot } from "./error-slots.ts";
import type { Slot } from "./slot.ts";
import { boxSlot, dateSlot, regExpSlot } from "./value-slots.ts";
import { headersSlot, searchParamsSlot, urlSlot } from "./web-slots.ts";

const slots: readonly Slot[] = [
  mapSlot,
  setSlot,
  arraySlot,
  dateSlot,
  // Before errors, among which some versions of Node.js count it.
  domExceptionSlot,
  errorSlot,
  viewSlot,
  arrayBufferSlot,
  regExpSlot,
  boxSlot,
  urlSlot,
  searchParamsSlot,
  headersSlot,
];

const slotsByNumber = new Map([ordinarySlot, ...slots].map((slot) => [slot.number, slot]));

/** The kind of built-in state that `value` has. */
export function slotOf(value: object): Slot {
  return slots.find((slot) => slot.is(value)) ?? ordinarySlot;
}

/** The kind of state with this number; undefined when there is none. */
export function slotNumbered(number: number): Slot | undefined {
  return slotsByNumber.get(number);
}
