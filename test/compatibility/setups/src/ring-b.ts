// oxlint-disable-next-line import/no-cycle -- modules of users do that
import { fromA, valueA } from "./ring-a.ts";
export const valueB = "b";
export function fromB(n: number): string {
  return n === 0 ? valueB : fromA(n - 1) + valueA;
}
