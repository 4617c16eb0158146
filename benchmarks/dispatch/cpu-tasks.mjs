import { burnResult } from "../contenders/burn.mjs";
import { checkAnswer, closedLoop } from "../harness/closed-loop.mjs";

const millisecondTasks = (contender, { durationMs, stepsPerMs }) =>
  closedLoop({
    concurrency: 100,
    durationMs,
    call: (i) => contender.burn(stepsPerMs, i),
    check: (result, i) => result === burnResult(stepsPerMs, i),
  });

/**
 * So few calls warm an engine up slowly: it goes on compiling on the cores that the tasks need, for some 3 s with this package
 * and 0.3 s with `child_process`.
 */
const warmUp = (contender, settings) =>
  millisecondTasks(contender, { ...settings, durationMs: settings.durationMs * WARM_UP });
const WARM_UP = 4;

/** Lengths from 1 to 200 ms, most of them short, in an order that is the same in each run. */
function unevenLengths(count) {
  let state = 12_345;
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
    return 1 + 199 * (state / 0x7fff_ffff) ** 3;
  });
}

async function unevenTasks(contender, { stepsPerMs, quick }) {
  const scale = quick ? 0.1 : 1;
  const tasks = unevenLengths(400).map((ms) => Math.round(ms * scale * stepsPerMs));
  const began = performance.now();
  const results = await Promise.all(tasks.map((steps, i) => contender.burn(steps, i)));
  const value = performance.now() - began;
  for (const [i, result] of results.entries()) checkAnswer(result === burnResult(tasks[i], i), `task ${i}`);
  return { value };
}

export const points = [
  {
    name: "dispatch/cpu-1ms",
    title: "1 ms of CPU, 100 in flight",
    unit: "calls/s",
    better: "more",
    contenders: ["wool", "piscina", "piscina-tuned", "grpc", "ipc"],
    targets: { "piscina-tuned": 1 },
    warmUp,
    measure: millisecondTasks,
  },
  {
    name: "dispatch/cpu-uneven",
    title: "400 CPU tasks of 1 to 200 ms, all at once (a tenth of that with --quick)",
    unit: "ms",
    better: "less",
    rounds: 3,
    contenders: ["wool", "piscina", "grpc"],
    targets: { piscina: 1 },
    warmUp: (contender, settings) => millisecondTasks(contender, { ...settings, durationMs: 300 }),
    measure: unevenTasks,
  },
];
