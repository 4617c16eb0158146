import { routine, WorkerPool } from "wool-ts";

const increment = routine(async (number) => number + 1);

/** `pool.map` without options. */
export async function open({ size = 2 } = {}) {
  const pool = await WorkerPool.start({ size });
  return {
    /** The sum of the results. */
    async mapAll(count) {
      let sum = 0;
      for await (const result of pool.map(increment, numbers(count))) sum += result;
      return sum;
    },
    close: () => pool.stop(),
  };
}

function* numbers(count) {
  for (let i = 0; i < count; i++) yield i;
}
