import { counter, up } from "./counter.ts";
export let loads = 0;
export const load = (): number[] => [++loads, up(), counter];
export const label = "later";
