import { readFile } from "node:fs/promises";
import { platform } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { checkAnswer } from "../harness/closed-loop.mjs";

const SETTLE_MS = 250;
const SETTLE_ATTEMPTS = 12;

/** The memory of the workers on average in MB, once it does not change any more. `field`: `Rss` or `Pss`. */
async function idleMemory(open, field) {
  const contender = await open({ size: 2 });
  try {
    const results = await Promise.all(Array.from({ length: 8 }, (_, i) => contender.add(i, 1)));
    for (const [i, result] of results.entries()) checkAnswer(result === i + 1, `call ${i}`);
    let value = await memoryOf(contender.workerPids(), field);
    for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
      await delay(SETTLE_MS);
      const before = value;
      value = await memoryOf(contender.workerPids(), field);
      if (Math.abs(value - before) < before / 200) break;
    }
    return { value };
  } finally {
    await contender.close();
  }
}

async function memoryOf(pids, field) {
  const sizes = await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
      return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, "m").exec(text)[1]) / 1024;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0) / sizes.length;
}

const point = (field, title, goal) => ({
  name: `startup/idle-${field.toLowerCase()}`,
  title,
  unit: "MB",
  better: "less",
  rounds: 3,
  contenders: ["wool"],
  goals: { wool: goal },
  measureFresh: (open) => idleMemory(open, field),
});

export const points =
  platform() === "linux"
    ? [
        point("Rss", "resident memory of an idle worker that has run a task", 60),
        point("Pss", "the same, shared pages divided among the processes that share them", 35),
      ]
    : [];
