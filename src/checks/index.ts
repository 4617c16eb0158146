export { checkFunction } from "./check-function.ts";
export { describeValue } from "./describe-value.ts";
