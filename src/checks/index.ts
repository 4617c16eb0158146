export { asError, errorCode, isError, messageOf, stackOf } from "./caught-error.ts";
export { checkFunction, checkOption, checkOptions } from "./check-options.ts";
export type { Check } from "./checks.ts";
export * as must from "./checks.ts";
export { describeValue } from "./describe-value.ts";
export { nearestName } from "./nearest-name.ts";
export { MAX_SOCKET_PATH_BYTES } from "./socket-path.ts";
