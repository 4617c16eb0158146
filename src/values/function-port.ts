import {
  type Assembled,
  assemble,
  Cell,
  type Dependency,
  type Dismantled,
  dismantle,
  type PlainData,
  type PrivateState,
  privatesOf,
  referenceOf,
  restorePrivates,
  ShippingError,
} from "../functions/index.ts";

export { type Assembled, type Dependency, type Dismantled, type PlainData, type PrivateState, ShippingError };

/** A captured variable that several functions share. */
export interface SharedCell {
  v: unknown;
}

/** What this codec needs of the code that ships functions. Tests put their own in its place. */
export interface FunctionPort {
  /** Takes a function or class apart. Throws `ShippingError` when it cannot travel. */
  dismantle(fn: object): Dismantled;
  /** Makes the shell of a function from what `dismantle` or `referenceOf` said. */
  assemble(head: PlainData, early: readonly unknown[]): Assembled;
  /** How to name an object that both sides have: an intrinsic, a module. Undefined for an ordinary object. */
  referenceOf(value: object): Dismantled | undefined;
  /** The private fields of an instance, empty when it has none. */
  privatesOf(value: object): readonly PrivateState[];
  restorePrivates(value: object, states: readonly PrivateState[]): void;
  isCell(value: object): value is SharedCell;
  createCell(): SharedCell;
}

const shippingPort: FunctionPort = {
  dismantle: (fn) => dismantle(fn),
  assemble,
  referenceOf: (value) => referenceOf(value),
  privatesOf,
  restorePrivates,
  isCell: (value): value is SharedCell => value instanceof Cell,
  createCell: () => new Cell(),
};

/** The port that encoders and decoders use unless they are given another. */
export function functionPort(): FunctionPort {
  return shippingPort;
}
