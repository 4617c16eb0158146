/**
 * Calls a worker that answers with nonsense, for ever, and tells how long its own event loop was held up: not longer than it
 * had a processor for, since others may need that.
 */
import { routine, share, WorkerProxy } from "wool-ts";

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

for (let round = 0; ; round++) {
  // One that is known by its address alone is asked what it is.
  const proxy = new WorkerProxy({ workers: [round % 4 === 0 ? metadata.address : metadata] });
  const handle = share({ round });
  const controller = new AbortController();
  const calls = Array.from({ length: 8 }, (_, i) =>
    proxy.dispatch(echo.with({ timeout: 300, ...(i % 2 === 0 ? { results: "data" } : {}) }), i === 3 ? handle : i),
  );
  calls.push(proxy.dispatch(echo.with({ timeout: 300, signal: controller.signal }), new Uint8Array(300_000)));
  const stream = proxy.dispatch(count.with({ timeout: 300, prefetch: 4 }));
  const steps = [stream.next(), stream.next(1), stream.throw(new Error("t"))];
  setTimeout(() => controller.abort(), 100);
  await Promise.allSettled([...calls, ...steps]);
  handle[Symbol.dispose]();
  await proxy.stop();
}
