/** Very many tasks and streams through one pool: memory and file descriptors of all processes must stay flat. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { routine, WorkerPool } from "wool-ts";
import { parseSoakCommandLine, SOAK_USAGE } from "./command-line.mjs";
import { megabytes } from "./report.mjs";
import { boundFor, findGrowth, growthOf } from "./trend.mjs";

const ROUNDS = 40;
const TASKS_AT_ONCE = 1000;
const STREAMS_AT_ONCE = 100;

/**
 * How much each may grow from the end of the warm-up to the end. For the heap that is less than two bytes for each task
 * of a full run.
 */
const BOUNDS = { heap: 2 ** 20, rss: 16 * 2 ** 20, descriptors: 2 };

class Intended extends Error {}

const add = routine(async (x, y) => x + y);
const echo = routine(async (value) => value);
const fail = routine(async (text) => {
  throw new Intended(text);
});
const count = routine(async function* (from, throws) {
  for (let i = from; i < from + 3; i++) yield i;
  if (throws) throw new Intended(String(from));
});

/** Runs in a worker and here. */
const sample = routine(async () => {
  const { readdirSync } = await import("node:fs");
  for (let round = 0; round < 3; round++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, rss } = process.memoryUsage();
  return { heap: heapUsed, rss, descriptors: readdirSync("/proc/self/fd").length };
});

async function makeTasks(from, many) {
  const calls = [];
  for (let i = from; i < from + many; i++) {
    if (i % 100 === 7)
      calls.push(echo({ i, text: "x".repeat(1000), list: [i, i + 1] }).then(({ list }) => expect(list[1], i + 1)));
    else if (i % 100 === 13) calls.push(fail(String(i)).then(unwanted, (error) => expectIntended(error, i)));
    else calls.push(add(i, 1).then((sum) => expect(sum, i + 1)));
  }
  await Promise.all(calls);
}

/** Of four streams one is closed early, one throws, one runs ahead, and one is read to its end. */
async function makeStream(i) {
  const items = (i % 4 === 2 ? count.with({ prefetch: 2 }) : count)(i, i % 4 === 1);
  let seen = 0;
  try {
    for await (const item of items) {
      expect(item, i + seen++);
      if (i % 4 === 0 && seen === 2) break;
    }
  } catch (error) {
    expectIntended(error, i);
    expect(i % 4, 1);
  }
  expect(seen, i % 4 === 0 ? 2 : 3);
}

async function makeStreams(from, many) {
  await Promise.all(Array.from({ length: many }, (_, i) => makeStream(from + i)));
}

async function inBatches(from, to, size, make) {
  for (let at = from; at < to; at += size) await make(at, Math.min(size, to - at));
}

function expect(found, expected) {
  if (found !== expected) throw new Error(`${found} came back and not ${expected}`);
}

function expectIntended(error, i) {
  if (!(error instanceof Intended) || error.message !== String(i)) throw error;
}

function unwanted() {
  throw new Error("it succeeded");
}

async function soak({ tasks, streams, json }) {
  const pool = await WorkerPool.start({ size: 2, workerOptions: { execArgv: ["--expose-gc"] } });
  const series = {};
  const note = (who, figures) => {
    for (const [what, value] of Object.entries(figures)) (series[`${who} ${what}`] ??= []).push(value);
  };
  const startedAt = performance.now();
  const share = (total, round) => Math.round((total * round) / ROUNDS);
  for (let round = 0; round < ROUNDS; round++) {
    await inBatches(share(tasks, round), share(tasks, round + 1), TASKS_AT_ONCE, makeTasks);
    await inBatches(share(streams, round), share(streams, round + 1), STREAMS_AT_ONCE, makeStreams);
    note("caller", await sample.local());
    const answers = await pool.broadcast(sample);
    for (const [i, { value, reason }] of answers.entries()) {
      if (value === undefined) throw reason;
      note(`worker ${i + 1}`, value);
    }
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const { done, failed } = pool.stats();
  await pool.stop();
  const found = findGrowth(series, BOUNDS);
  console.log(
    `${tasks} tasks and ${streams} streams in ${seconds.toFixed(1)} s; ${done} calls returned, ${failed} threw`,
  );
  for (const [name, samples] of Object.entries(series)) console.log(describeSeries(name, samples));
  for (const { name, growth, bound } of found) console.log(`VIOLATION: ${name} grew by ${growth}, and may by ${bound}`);
  if (found.length === 0) console.log("no violations");
  if (json !== undefined)
    writeFileSync(json, `${JSON.stringify({ tasks, streams, seconds, bounds: BOUNDS, series }, null, 2)}\n`);
  if (found.length > 0) process.exitCode = 1;
}

function describeSeries(name, samples) {
  const show = name.endsWith("descriptors") ? String : megabytes;
  const [first, warm, last] = [samples[0], samples[Math.floor(samples.length / 4)], samples.at(-1)];
  const growth = show(Math.round(growthOf(samples)));
  return (
    `  ${name}: ${show(first)} at first, ${show(warm)} after the warm-up, ${show(last)} at the end; ` +
    `trend ${growth}, may grow by ${show(boundFor(name, BOUNDS))}`
  );
}

if (globalThis.gc === undefined) {
  const { status } = spawnSync(
    process.execPath,
    ["--expose-gc", fileURLToPath(import.meta.url), ...process.argv.slice(2)],
    {
      stdio: "inherit",
    },
  );
  process.exitCode = status ?? 1;
} else {
  try {
    const options = parseSoakCommandLine(process.argv.slice(2));
    if (options.help) console.log(SOAK_USAGE);
    else await soak(options);
  } catch (error) {
    console.error(error.stack);
    process.exitCode = 2;
  }
}
