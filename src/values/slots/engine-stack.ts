import { withStackLimit } from "../../checks/index.ts";
import { ownProperty, type Property } from "../own-property.ts";

const sample = {};
Error.captureStackTrace(sample);
/** Newer engines give every object with a stack the same accessor for it; older ones a plain property. */
const getter = ownProperty(sample, "stack")?.get;

/** True for the `stack` that the engine itself gives to errors, where that is an accessor. */
export function isEngineStack(property: Property): boolean {
  return getter !== undefined && property.get === getter;
}

/** Gives an object a `stack` as this engine does: an accessor or a plain property. */
export function setEngineStack(object: object, stack: unknown): void {
  withStackLimit(0, () => Error.captureStackTrace(object));
  Reflect.set(object, "stack", stack);
}
