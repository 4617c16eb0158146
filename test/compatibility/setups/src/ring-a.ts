// oxlint-disable-next-line import/no-cycle -- modules of users do that
import { fromB, valueB } from "./ring-b.ts";
export const valueA = "a";
export function fromA(n: number): string {
  return n === 0 ? valueA : fromB(n - 1) + valueB;
}
