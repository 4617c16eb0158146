import { arrayBufferState, viewState } from "./binary-states.ts";
import { arrayState, mapState, ordinaryState, setState } from "./container-states.ts";
import { domExceptionState, errorState } from "./error-states.ts";
import { blobState, formDataState } from "./file-states.ts";
import type { InternalState } from "./internal-state.ts";
import { INTL_CLASSES, intlState, localeState } from "./intl-states.ts";
import { inheritedClass } from "./platform-class.ts";
import { promiseState } from "./promise-state.ts";
import { textDecoderState, textEncoderState } from "./text-states.ts";
import { boxState, dateState, regExpState } from "./value-states.ts";
import { weakState } from "./weak-state.ts";
import { headersState, searchParamsState, urlState } from "./web-states.ts";
import { zodState } from "./zod-state.ts";

const states: readonly InternalState[] = [
  mapState,
  setState,
  arrayState,
  dateState,
  // Before errors: for some versions of Node.js it is an error too.
  domExceptionState,
  errorState,
  viewState,
  arrayBufferState,
  regExpState,
  boxState,
  promiseState,
  weakState,
  zodState,
];

/** States by the platform's class that their objects inherit from. */
const statesByClass = new Map<string, InternalState>([
  ["URL", urlState],
  ["URLSearchParams", searchParamsState],
  ["Headers", headersState],
  ["TextEncoder", textEncoderState],
  ["TextDecoder", textDecoderState],
  ["FormData", formDataState],
  ["Blob", blobState],
  ["File", blobState],
  ["Locale", localeState],
  ...INTL_CLASSES.map((name) => [name, intlState] as const),
]);

const statesByNumber = new Map(
  [ordinaryState, ...states, ...statesByClass.values()].map((state) => [state.number, state]),
);

/** The internal state that `value` has. */
export function internalStateOf(value: object): InternalState {
  return states.find((state) => state.is(value)) ?? platformStateOf(value) ?? ordinaryState;
}

/**
 * A function that returns the current internal state of an object as one value to compare; undefined for a state that
 * cannot be compared like that.
 */
export function stateSummary(value: object): (() => unknown) | undefined {
  const state = internalStateOf(value);
  return state.summary === undefined ? undefined : () => state.summary?.(value);
}

/** The internal state with this number; undefined when there is none. */
export function internalStateNumbered(number: number): InternalState | undefined {
  return statesByNumber.get(number);
}

/** The possible state of objects with a prototype; null for none. */
const candidates = new WeakMap<object, InternalState | null>([[Object.prototype, null]]);

function platformStateOf(value: object): InternalState | undefined {
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype === null) return undefined;
  let candidate = candidates.get(prototype);
  if (candidate === undefined) {
    const name = inheritedClass(prototype, statesByClass);
    candidate = (name === undefined ? undefined : statesByClass.get(name)) ?? null;
    candidates.set(prototype, candidate);
  }
  return candidate?.is(value) === true ? candidate : undefined;
}
