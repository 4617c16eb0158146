// The smallest program: a function that runs in another process.
// Prints:
//   here: 3
//   in another process: 3
//   it ran in a different process: true
import { routine, WorkerPool } from "wool-ts";

const add = routine(async (x, y) => x + y);
const whoAmI = routine(async () => process.pid);

// Without a pool a routine is an ordinary function.
console.log("here:", await add(1, 2));

const pool = await WorkerPool.start({ size: 2 });
try {
  console.log("in another process:", await add(1, 2));
  console.log("it ran in a different process:", (await whoAmI()) !== process.pid);
} finally {
  await pool.stop();
}
