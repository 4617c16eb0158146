/**
 * Calls a worker that answers with nonsense, for ever, and tells how long its own event loop was held up: not longer than it
 * had a processor for, since others may need that.
 */
import { routine, WorkerProxy } from "wool-ts";

process.removeAllListeners("warning");
process.on("warning", () => undefined);
const echo = routine(async (value) => value);
const count = routine(async function* () {
  yield 1;
});
const metadata = {
  uid: "w",
  address: process.argv[2],
  pid: 1,
  version: "",
  tags: new Set(),
  extra: {},
  secure: false,
  channel: {},
};

let last = performance.now();
let used = process.cpuUsage();
setInterval(() => {
  const now = performance.now();
  const { user, system } = process.cpuUsage(used);
  process.send({ lag: Math.min(now - last - 50, (user + system) / 1000) });
  [last, used] = [now, process.cpuUsage()];
}, 50);

for (;;) {
  const proxy = new WorkerProxy({ workers: [metadata] });
  const calls = Array.from({ length: 8 }, (_, i) => proxy.dispatch(echo.with({ timeout: 300 }), i));
  const stream = proxy.dispatch(count.with({ timeout: 300, prefetch: 4 }));
  await Promise.allSettled([...calls, stream.next(), stream.next()]);
  await proxy.stop();
}
