import type { FunctionPort } from "../function-port.ts";
import type { GraphReader, GraphWriter } from "../graph/index.ts";
import type { Property } from "../own-property.ts";

/** How the internal state of one kind of built-in object travels: what the object has besides its properties. */
export interface InternalState<T extends object = object> {
  /** Its number in a payload. */
  readonly number: number;
  /** True when `value` has this state, whatever its prototype says. */
  is(value: object): value is T;
  /** Which of the kind's variants `value` is, 0 to 255. */
  variant(value: T, prototype: object | null, writer: GraphWriter): number;
  /** The prototype of a fresh object of a variant, or undefined when there is no such variant here. */
  prototype(variant: number): object | undefined;
  /** The public prototype to use instead of an internal one of the platform. */
  publicPrototype?(prototype: object): object;
  /** Writes the data that is needed to make the object. */
  writeShell(writer: GraphWriter, value: T): void;
  readShell(reader: GraphReader, variant: number): T;
  /** Writes the contents that may refer back to the object. */
  writeBody?(writer: GraphWriter, value: T): void;
  readBody?(reader: GraphReader, value: T, variant: number): void;
  /** True when `value` is known, without listing its properties, to have none but those that come with the state. */
  hasOnlyState?(value: T): boolean;
  /** True for an own property that comes with the state and is not written. */
  implies?(value: T, key: string | symbol, property: Property): boolean;
  /** The property to write in place of one that cannot travel as it is. */
  present?(port: FunctionPort, value: T, key: string | symbol, property: Property): Property;
  /**
   * The values that the state refers to, with labels for the path to them. Only for references that no other part of
   * the codec knows.
   */
  leads?(value: T): readonly { readonly label: string; readonly value: unknown }[];
  /** The state as one value that differs when the state has changed; missing where that is not possible. */
  summary?(value: T): unknown;
  /** An object that comes with `value` of that variant and that the payload may also refer to. */
  companion?(value: T, variant: number): object | undefined;
}
