import { next, setLive } from "./counter.ts";

export * as counting from "./counter.ts";
export { Gauge, live } from "./counter.ts";

/** Uses the same state by another way. */
export function nextByFacade(): number {
  return next();
}

export function raise(value: number): void {
  setLive(value);
}
