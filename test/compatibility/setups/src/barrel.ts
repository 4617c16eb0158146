export * from "./counter.ts";
export * as state from "./counter.ts";
export { default as tell, up as raise } from "./counter.ts";
export * from "./shapes.ts";

import { LIMIT } from "./counter.ts";
export const twice = LIMIT * 2;
export default { twice, name: "barrel" };
