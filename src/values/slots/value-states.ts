import { types } from "node:util";
import { arrayIndex } from "../array-index.ts";
import { MalformedPayload } from "../bytes/index.ts";
import { builtInGetter } from "../own-property.ts";
import type { InternalState } from "./internal-state.ts";

/** Dates, invalid ones included. */
export const dateState: InternalState<Date> = {
  number: 4,
  is: (value): value is Date => types.isDate(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? Date.prototype : undefined),
  writeShell: (writer, date) => writer.float64(Date.prototype.getTime.call(date)),
  readShell: (reader) => new Date(reader.float64()),
  summary: (date) => Date.prototype.getTime.call(date),
};

/** Regular expressions. `lastIndex` is a property and travels as one unless it is 0. */
export const regExpState: InternalState<RegExp> = {
  number: 5,
  is: (value): value is RegExp => types.isRegExp(value),
  variant: () => 0,
  prototype: (variant) => (variant === 0 ? RegExp.prototype : undefined),
  writeShell(writer, expression) {
    writer.string(String(sourceOf(expression)));
    writer.string(flagsOf(expression));
  },
  readShell(reader) {
    const source = reader.text();
    const flags = reader.text();
    try {
      return new RegExp(source, flags);
    } catch (error) {
      throw new MalformedPayload(
        `the payload holds a regular expression that cannot be made here: /${source}/${flags}`,
        {
          cause: error,
        },
      );
    }
  },
  summary: (expression) => `/${String(sourceOf(expression))}/${flagsOf(expression)}`,
  implies: (_expression, key, property) => key === "lastIndex" && property.value === 0 && property.writable === true,
};

const boxes: readonly { prototype: object; is(value: object): boolean; unbox(value: object): unknown }[] = [
  { prototype: Number.prototype, is: types.isNumberObject, unbox: (value) => Number.prototype.valueOf.call(value) },
  { prototype: String.prototype, is: types.isStringObject, unbox: (value) => String.prototype.valueOf.call(value) },
  { prototype: Boolean.prototype, is: types.isBooleanObject, unbox: (value) => Boolean.prototype.valueOf.call(value) },
  { prototype: BigInt.prototype, is: types.isBigIntObject, unbox: (value) => unboxWith(BigInt.prototype, value) },
  { prototype: Symbol.prototype, is: types.isSymbolObject, unbox: (value) => unboxWith(Symbol.prototype, value) },
];

/** Objects made of a primitive, such as `new String("a")`. */
export const boxState: InternalState = {
  number: 6,
  is: (value): value is object => types.isBoxedPrimitive(value),
  variant: (value) => boxes.findIndex((box) => box.is(value)),
  prototype: (variant) => boxes[variant]?.prototype,
  writeShell: (writer, value) => writer.value(boxes.find((box) => box.is(value))?.unbox(value)),
  readShell(reader, variant) {
    const value: object = Object(reader.value());
    if (boxes[variant]?.is(value) !== true)
      throw new MalformedPayload("a boxed primitive in the payload is of another type");
    return value;
  },
  summary: () => undefined,
  implies(value, key) {
    if (!types.isStringObject(value)) return false;
    const index = arrayIndex(key);
    return key === "length" || (index >= 0 && index < String.prototype.valueOf.call(value).length);
  },
};

function unboxWith(prototype: object, value: object): unknown {
  const valueOf: unknown = Reflect.get(prototype, "valueOf");
  return typeof valueOf === "function" ? Reflect.apply(valueOf, value, []) : undefined;
}

const sourceOf = builtInGetter(RegExp.prototype, "source");
/** `flags` itself reads properties that a subclass may have changed. */
const FLAGS = Object.entries({
  d: "hasIndices",
  g: "global",
  i: "ignoreCase",
  m: "multiline",
  s: "dotAll",
  u: "unicode",
  v: "unicodeSets",
  y: "sticky",
}).map(([flag, name]) => ({ flag, isSet: builtInGetter(RegExp.prototype, name) }));

function flagsOf(expression: RegExp): string {
  return FLAGS.map(({ flag, isSet }) => (isSet(expression) === true ? flag : "")).join("");
}
