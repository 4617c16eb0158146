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
/** How long calls may take, and wait for a worker that makes sense. */
const PATIENCE = { timeout: 60, dispatchTimeout: 60 };
const metadata = {
  uid: "w",
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
  const address = `${process.argv[2]}${round % Number(process.argv[3])}`;
  const proxy = new WorkerProxy({ workers: [round % 4 === 0 ? address : { ...metadata, address }] });
  const handle = share({ round });
  const controller = new AbortController();
  const calls = Array.from({ length: 8 }, (_, i) =>
    proxy.dispatch(echo.with({ ...PATIENCE, ...(i % 2 === 0 ? { results: "data" } : {}) }), i === 3 ? handle : i),
  );
  calls.push(proxy.dispatch(echo.with({ ...PATIENCE, signal: controller.signal }), new Uint8Array(300_000)));
  const stream = proxy.dispatch(count.with({ ...PATIENCE, prefetch: 4 }));
  const steps = [stream.next(), stream.next(1), stream.throw(new Error("t"))];
  setTimeout(() => controller.abort(), 20);
  await Promise.allSettled([...calls, ...steps]);
  handle[Symbol.dispose]();
  await proxy.stop();
}
