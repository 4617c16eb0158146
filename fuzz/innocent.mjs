/** Calls a worker repeatedly and reports, when asked, how long the slowest call took. */
import { routine, WorkerProxy } from "wool-ts";

const echo = routine(async (value) => value, { name: "innocent" });
const proxy = new WorkerProxy({ workers: [process.argv[2]] });
let [worst, calls, failures] = [0, 0, []];

let isAsked = false;
process.on("message", () => (isAsked = true));

/** Answers only between calls, so that a call that an attack delays counts for that attack. */
function tell() {
  isAsked = false;
  process.send({ worst, calls, failures });
  [worst, calls, failures] = [0, 0, []];
}

await proxy.dispatch(echo, 0);
process.send("ready");
for (;;) {
  const start = performance.now();
  try {
    const sent = calls++;
    if ((await proxy.dispatch(echo, sent)) !== sent) failures.push("a wrong answer");
  } catch (error) {
    failures.push(error.message);
  }
  worst = Math.max(worst, performance.now() - start);
  if (isAsked) tell();
  await new Promise((resolve) => setTimeout(resolve, 5));
}
