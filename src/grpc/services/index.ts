export { Health, type ServingStatus } from "./health.ts";
export { addReflection } from "./reflection.ts";
