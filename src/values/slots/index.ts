export { ordinaryState } from "./container-states.ts";
export { errorState, keepName, travellingPrototype } from "./error-states.ts";
export { close, EXTENSIBLE, integrityCode } from "./integrity.ts";
export type { InternalState } from "./internal-state.ts";
export { internalStateNumbered, internalStateOf, stateSummary } from "./internal-states.ts";
export { isOpenProperty, type KeyedProperty, readProperties, writeProperties } from "./properties.ts";
export { zodAdditions, zodDefinition } from "./zod-state.ts";
