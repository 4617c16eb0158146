import { routine, WorkerPool } from "wool-ts";

/** A function that every worker can import by itself. */
export const addByReference = async (x, y) => x + y;

/** Captures nothing that changes: one look shows that nothing has to be sent. */
export function tier0() {
  const zero = 0;
  const limits = Object.freeze({ most: Number.MAX_SAFE_INTEGER });
  const plus = (x, y) => x + y + zero;
  return async (x, y) => Math.min(plus(x, y), limits.most);
}

/** Captures an object that could change: compared before each call. */
export function tier1() {
  const settings = { offset: 0, names: ["a", "b"], nested: { scale: 1 } };
  return async (x, y) => (x + y) * settings.nested.scale + settings.offset;
}

/** Captures a variable that is assigned to: read before each call. */
export function tier2() {
  let offset = 1;
  const reset = () => {
    offset = 0;
  };
  reset();
  return async (x, y) => x + y + offset;
}

export async function openPool(fn, size = 2) {
  const pool = await WorkerPool.start({ size });
  return { add: routine(fn), close: () => pool.stop() };
}
