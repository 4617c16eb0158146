import { isAbortSignal, isRecord } from "./value-kinds.ts";

/** Says what a value must be when it is not that; `undefined` when it is. The answer completes "must be ...". */
export type Check = (value: unknown) => string | undefined;

export const anything: Check = () => undefined;
export const flag: Check = (value) => (typeof value === "boolean" ? undefined : "true or false");
export const text: Check = (value) => (typeof value === "string" ? undefined : "a string");
export const filledText: Check = (value) =>
  typeof value === "string" && value !== "" ? undefined : "a string that is not empty";
export const texts: Check = (value) =>
  Array.isArray(value) && value.every((item) => typeof item === "string") ? undefined : "an array of strings";
export const textRecord: Check = (value) =>
  isRecord(value) && Object.values(value).every((item) => typeof item === "string")
    ? undefined
    : "an object with strings for values";
export const object: Check = (value) => (isRecord(value) ? undefined : "an object");
export const abortSignal: Check = (value) => (isAbortSignal(value) ? undefined : "an AbortSignal");

/** A function; `role` names it. */
export const callable =
  (role = "a function"): Check =>
  (value) =>
    typeof value === "function" ? undefined : role;

/** One of these strings. */
export const oneOf =
  (...values: readonly string[]): Check =>
  (value) => {
    if (typeof value === "string" && values.includes(value)) return undefined;
    const quoted = values.map((name) => JSON.stringify(name));
    const last = quoted.pop() ?? "";
    return quoted.length === 0 ? last : `${quoted.join(", ")} or ${last}`;
  };

/** An integer in a range. */
export const wholeNumber =
  (least: number, most = Number.MAX_SAFE_INTEGER): Check =>
  (value) => {
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return undefined;
    if (most !== Number.MAX_SAFE_INTEGER) return `a whole number from ${least} to ${most}`;
    return `a whole number, ${least === 0 ? "zero" : least} or more`;
  };

/** An integer, or `Infinity` for no limit. */
export const limit =
  (least: number): Check =>
  (value) =>
    value === Number.POSITIVE_INFINITY ? undefined : wholeNumber(least)(value);

/** Any duration: 0, a fraction, `Infinity` or any other number that is not negative. */
export const duration: Check = (value) =>
  typeof value === "number" && value >= 0 ? undefined : "a number of milliseconds, zero or more";

/** A duration that may be negative. */
export const signedDuration: Check = (value) =>
  typeof value === "number" && !Number.isNaN(value) ? undefined : "a number of milliseconds";

/** A finite number of some unit that is not zero. */
export const aboveZero =
  (unit: string): Check =>
  (value) =>
    typeof value === "number" && Number.isFinite(value) && value > 0 ? undefined : `a number of ${unit} above zero`;

const LIMITS: Partial<Record<NodeJS.Platform, number>> = { linux: 107, win32: Number.POSITIVE_INFINITY };

/** Most bytes of a unix socket's path: the limit of the system (108 on Linux, 104 elsewhere) less the final zero. */
export const MAX_SOCKET_PATH_BYTES = LIMITS[process.platform] ?? 103;
