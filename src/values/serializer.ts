/** A way of one's own to turn values into bytes, for `RoutineOptions.serializer`. */
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
