import { median } from "./statistics.mjs";

/**
 * Keeps `concurrency` calls in flight for `durationMs` or somewhat longer and returns how many ended per second and,
 * with one in flight, the median latency. `call(i)` makes call number `i`, `check(result, i)` says whether its result
 * is right.
 */
export async function closedLoop({ concurrency, durationMs, call, check }) {
  let running = true;
  let issued = 0;
  let completed = 0;
  let perSecond = 0;
  const latencies = [];

  const lane = async () => {
    while (running) {
      const i = issued++;
      checkAnswer(check(await call(i), i), `call ${i}`);
      completed++;
    }
  };
  const timedLane = async () => {
    while (running) {
      const i = issued++;
      const sent = performance.now();
      const result = await call(i);
      latencies.push(performance.now() - sent);
      checkAnswer(check(result, i), `call ${i}`);
      completed++;
    }
  };

  const began = performance.now();
  let timer;
  const stopWhenEnough = () => {
    // A slow contender may not have answered every call yet: only its first answers would count.
    if (completed < 2 * concurrency) {
      timer = setTimeout(stopWhenEnough, durationMs / 4);
      return;
    }
    running = false;
    perSecond = (completed / (performance.now() - began)) * 1000;
  };
  timer = setTimeout(stopWhenEnough, durationMs);
  try {
    if (concurrency === 1) await timedLane();
    else await Promise.all(Array.from({ length: concurrency }, lane));
  } finally {
    running = false;
    clearTimeout(timer);
  }
  return { value: perSecond, ...(concurrency === 1 && { latencyUs: median(latencies) * 1000 }) };
}

/** Throws unless `right`: a fast wrong answer must not count. */
export function checkAnswer(right, what) {
  if (!right) throw new Error(`wrong result of ${what}`);
}
