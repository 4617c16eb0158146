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
  // Before errors, among which some versions of Node.js count it.
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

/** By the class of the platform that objects with this state inherit from. */
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
 * Tells what the internal state of an object is at any time, as one value to compare; undefined when it has a state that
 * cannot be compared so.
 */
export function stateSummary(value: object): (() => unknown) | undefined {
  const state = internalStateOf(value);
  return state.summary === undefined ? undefined : () => state.summary?.(value);
}

/** The internal state with this number; undefined when there is none. */
export function internalStateNumbered(number: number): InternalState | undefined {
  return statesByNumber.get(number);
}

/** What objects with a prototype may have as state; null for none. */
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
