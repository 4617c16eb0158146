import { arrayBufferState, viewState } from "./binary-states.ts";
import { arrayState, mapState, ordinaryState, setState } from "./container-states.ts";
import { domExceptionState, errorState } from "./error-states.ts";
import type { InternalState } from "./internal-state.ts";
import { boxState, dateState, regExpState } from "./value-states.ts";
import { headersState, searchParamsState, urlState } from "./web-states.ts";

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
  urlState,
  searchParamsState,
  headersState,
];

const statesByNumber = new Map([ordinaryState, ...states].map((state) => [state.number, state]));

/** The internal state that `value` has. */
export function internalStateOf(value: object): InternalState {
  return states.find((state) => state.is(value)) ?? ordinaryState;
}

/** The internal state with this number; undefined when there is none. */
export function internalStateNumbered(number: number): InternalState | undefined {
  return statesByNumber.get(number);
}
