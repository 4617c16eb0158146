export let counter = 0;
export let last: { n: number } | undefined;
export const table = new Map<string, number>();
export const id = `${process.pid}-${Math.random()}`;
export const LIMIT = 3;
export function up(): number {
  counter += 1;
  last = { n: counter };
  table.set("n", counter);
  return counter;
}
export const getId = (): string => id;
export const reader = { read: () => counter, up: () => up() };
export function makeCloser(): () => number[] {
  let own = 0;
  return () => [++own, up(), counter];
}
export default function describe(): string {
  return `at ${counter}`;
}
