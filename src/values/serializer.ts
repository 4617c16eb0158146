import { types } from "node:util";
import { describeValue } from "../checks/index.ts";
import { SerializationError } from "../errors.ts";
import { dumpJson, jsonSerializer } from "./json-values.ts";

/**
 * A custom way to turn values into bytes, for `RoutineOptions.serializer`. `undefined` and the errors of the runtime
 * do not go through it.
 */
export interface Serializer {
  dumps(value: unknown): Uint8Array;
  loads(bytes: Uint8Array): unknown;
}

/** True when `value` has both methods of a `Serializer`. */
export function isSerializer(value: unknown): value is Serializer {
  return (
    typeof value === "object" &&
    value !== null &&
    "dumps" in value &&
    typeof value.dumps === "function" &&
    "loads" in value &&
    typeof value.loads === "function"
  );
}

/**
 * The bytes that `serializer` makes from `value`.
 *
 * @param rootName - what the value is called in an error
 * @throws SerializationError when the result is not bytes; rethrows errors of the serializer
 */
export function dumpWith(serializer: Serializer, value: unknown, rootName: string): Uint8Array {
  if (serializer === jsonSerializer) return dumpJson(value, rootName);
  const bytes: unknown = serializer.dumps(value);
  if (types.isUint8Array(bytes)) return bytes;
  throw new SerializationError(
    `${rootName}: dumps() of the routine's serializer returned ${describeValue(bytes)}. It must return a Uint8Array, ` +
      "such as new TextEncoder().encode(text), and not a promise.",
    rootName,
  );
}
