// A routine that calls itself: every call is a separate task, sent from worker to worker.
// Prints:
//   fib(12) = 144
//   tasks made by tasks: true
import { currentTask, routine, WorkerPool } from "wool-ts";

const fib = routine(async (n) => {
  if (n < 2) return n;
  const [a, b] = await Promise.all([fib(n - 1), fib(n - 2)]);
  return a + b;
});

// A task knows which task made it.
const child = routine(async () => currentTask().caller);
const parent = routine(async () => ({ id: currentTask().id, callerOfChild: await child() }));

const pool = await WorkerPool.start({ size: 2 });
try {
  console.log("fib(12) =", await fib(12));
  const { id, callerOfChild } = await parent();
  console.log("tasks made by tasks:", id === callerOfChild);
} finally {
  await pool.stop();
}
