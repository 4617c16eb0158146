export { ordinarySlot } from "./container-slots.ts";
export { errorSlot, keepName, travellingPrototype } from "./error-slots.ts";
export { close, EXTENSIBLE, integrityOf } from "./integrity.ts";
export { type KeyedProperty, readProperties, writeProperties } from "./properties.ts";
export type { Slot } from "./slot.ts";
export { slotNumbered, slotOf } from "./slots.ts";
