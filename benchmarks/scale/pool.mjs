// What a call costs as numbers grow: waiting calls, routines, open streams, workers.
//
//   npm run build && node benchmarks/scale/pool.mjs [--quick] [queued|promises|routines|streams|workers ...]
import { routine, WorkerPool } from "wool-ts";
import { formatPlot, growthOf, median } from "./growth.mjs";

const quick = process.argv.includes("--quick");
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const ROUNDS = quick ? 1 : 9;

const add = routine(async (x, y) => x + y);
const count = routine(async function* () {
  for (let i = 0; ; i++) yield i;
});

/** Microseconds of CPU time that this process needs for each of `calls`. */
async function cpuOf(calls, work) {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

/** All calls are made at once. */
async function queued(pool, size) {
  const times = Math.max(1, 100_000 / size);
  return await cpuOf(size * times, async () => {
    for (let i = 0; i < times; i++) {
      const results = await Promise.all(Array.from({ length: size }, () => pool.dispatch(add, 1, 2)));
      if (results.some((result) => result !== 3)) throw new Error("a call gave a wrong answer");
    }
  });
}

/**
 * As many promises wait, each with a record of eight fields, which is half of what a call has. Nothing else happens to them: what `queued`
 * costs at the least. The engine copies what waits when it collects garbage.
 */
async function promises(_pool, size) {
  const times = Math.max(1, 100_000 / size);
  return await cpuOf(size * times, async () => {
    for (let i = 0; i < times; i++) {
      const waiting = [];
      const all = Array.from(
        { length: size },
        () =>
          new Promise((resolve) => {
            waiting.push({ resolve, a: waiting, b: waiting, c: 0, d: 1, e: 2, f: 3, g: 4 });
          }),
      );
      for (let at = 0; at < size; at += 1000) {
        await new Promise((resolve) => setImmediate(resolve));
        for (let k = at; k < Math.min(size, at + 1000); k++) {
          waiting[k].resolve(3);
          waiting[k] = undefined;
        }
      }
      await Promise.all(all);
    }
  });
}

/**
 * Each routine is called in turn. Before, so often that every worker has its code, and that it is known how long it takes: after one
 * call of each, half of the calls that count would send and compile code.
 */
async function routines(pool, size) {
  const all = Array.from({ length: size }, (_, i) => routine(async (x) => x + i));
  const call = async (calls) => {
    for (let at = 0; at < calls; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => pool.dispatch(all[(at + i) % size], 1)));
    }
  };
  await call(Math.max(20_000, 20 * size));
  const calls = 100_000;
  return await cpuOf(calls, () => call(calls));
}

/** All streams are opened, and then each is pulled in turn. */
async function streams(pool, size) {
  const open = Array.from({ length: size }, () => pool.dispatch(count));
  await Promise.all(open.map((stream) => stream.next()));
  const steps = 20_000;
  const cost = await cpuOf(steps, async () => {
    for (let at = 0; at < steps; at += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, i) => open[(at + i) % size].next()));
    }
  });
  await Promise.all(open.map((stream) => stream.return(undefined)));
  return cost;
}

/** As many calls under way as two workers can handle. */
async function workers(pool) {
  return await cpuOf(50_000, async () => {
    for (let at = 0; at < 50_000; at += 400) {
      await Promise.all(Array.from({ length: 400 }, () => pool.dispatch(add, 1, 2)));
    }
  });
}

const SWEEPS = {
  queued: { title: "calls made at once", sizes: [1e3, 1e4, 1e5, 1e6], measure: queued },
  promises: { title: "promises that wait, and no calls", sizes: [1e3, 1e4, 1e5, 1e6], measure: promises },
  routines: { title: "routines, called in turn, 100 at a time", sizes: [1, 100, 1000, 10_000], measure: routines },
  streams: { title: "open streams, pulled in turn, 100 at a time", sizes: [100, 1000, 10_000], measure: streams },
  workers: { title: "worker processes, 400 calls at a time", sizes: [1, 2, 10, 50], measure: workers, spawns: true },
};

const chosen = Object.entries(SWEEPS).filter(([name]) => wanted.length === 0 || wanted.includes(name));
if (chosen.length === 0) throw new Error(`choose from ${Object.keys(SWEEPS).join(", ")}`);
for (const [, { title, sizes, measure, spawns }] of chosen) {
  const figures = [];
  for (const size of quick ? sizes.slice(0, 3) : sizes) {
    const pool = await WorkerPool.start({ size: spawns ? size : 2 });
    await measure(pool, sizes[0]);
    const rounds = [];
    for (let i = 0; i < ROUNDS; i++) rounds.push(await measure(pool, size));
    figures.push(median(rounds));
    await pool.stop();
  }
  process.stdout.write(formatPlot(title, sizes.slice(0, figures.length), figures, growthOf(figures)));
}
