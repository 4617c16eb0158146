/**
 * Calls a worker that answers with nonsense, forever, and reports how long its own event loop was blocked. That is at
 * most the CPU time that it used, because other processes may have had the processor.
 */
import { routine, StaticDiscovery, share, WorkerPool, WorkerProxy } from "wool-ts";

process.removeAllListeners("warning");
process.on("warning", () => undefined);
const echo = routine(async (value) => value);
const count = routine(async function* () {
  yield 1;
});
/** How long calls may take, and how long they wait for a valid worker, in milliseconds. */
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

let seen = performance.now();
let used = process.cpuUsage();
setInterval(() => {
  const now = performance.now();
  const { user, system } = process.cpuUsage(used);
  process.send({ lag: Math.min(now - seen - 50, (user + system) / 1000) });
  [seen, used] = [now, process.cpuUsage()];
}, 50);

/** Maps over many items, which travel in packs as long as the worker says that they take no time. */
async function map(address) {
  const discovery = new StaticDiscovery([{ ...metadata, address }]);
  const pool = await WorkerPool.start({ discovery, quorum: 0 });
  const items = (async () => {
    for await (const _ of pool.map(echo, Array(2000).keys(), { stopOnError: false }));
  })();
  await Promise.race([items.catch(() => undefined), new Promise((resolve) => setTimeout(resolve, PATIENCE.timeout))]);
  await pool.stop({ timeout: 0 });
  await Promise.allSettled([items]);
}

/** Most of the time is spent waiting for answers that do not come. */
const ROUNDS_AT_ONCE = 8;

async function round(number) {
  // One that is known by its address alone is asked what it is.
  const address = `${process.argv[2]}${number % Number(process.argv[3])}`;
  const proxy = new WorkerProxy({ workers: [number % 4 === 0 ? address : { ...metadata, address }] });
  const handle = share({ number });
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
  if (number % 4 === 1) await map(address);
}

let last = 0;
for (let i = 0; i < ROUNDS_AT_ONCE; i++) {
  void (async () => {
    for (;;) await round(last++);
  })();
}
