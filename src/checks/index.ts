export { asError, errorCode, isError, messageOf, stackOf, withStackLimit } from "./caught-error.ts";
export { checkFunction, checkOption, checkOptions, describeValue, nearestName } from "./check-options.ts";
export type { Check } from "./checks.ts";
export * as must from "./checks.ts";
export { MAX_SOCKET_PATH_BYTES } from "./checks.ts";
export { isAbortSignal, isObject, isRecord } from "./value-kinds.ts";
