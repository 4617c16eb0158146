import { readFile } from "node:fs/promises";
import { platform } from "node:os";
import { checkAnswer } from "../harness/closed-loop.mjs";

const ELEMENTS = 12_500_000;
const MEGABYTE = 1_000_000;

function makeTable() {
  const table = new Float64Array(ELEMENTS);
  for (let i = 0; i < ELEMENTS; i++) table[i] = i * 0.5;
  return table;
}

/** Makes the calls, two at a time. */
async function readAll({ count, read }) {
  let next = 0;
  const lane = async () => {
    for (let i = next++; i < count; i = next++) {
      const place = (i * 61_051) % ELEMENTS;
      checkAnswer((await read(place)) === place * 0.5, `element ${place}`);
    }
  };
  await Promise.all([lane(), lane()]);
}

/** The average cost of a call in ms. The first calls bring the value to the workers. */
async function perCall(open) {
  const contender = await open({ size: 2 });
  try {
    // Makes sure that both workers run and know the routine.
    const { read } = contender.reader(new Float64Array(1));
    await Promise.all([read(0), read(0), read(0), read(0)]);
    const reader = contender.reader(makeTable());
    const began = performance.now();
    await readAll(reader);
    return { value: (performance.now() - began) / reader.count };
  } finally {
    await contender.close();
  }
}

/** How many copies of a value of 100 MB are in the memory of a worker process with two threads that both use it. */
async function copies(open) {
  const contender = await open({ size: 2, threads: 2 });
  try {
    const warmUp = contender.reader(new Float64Array(1));
    await Promise.all(Array.from({ length: 40 }, () => warmUp.read(0)));
    const before = await memoryOf(contender.workerPids());
    const { read } = contender.reader(makeTable());
    await Promise.all(Array.from({ length: 16 }, () => readAll({ count: 10, read })));
    const after = await memoryOf(contender.workerPids());
    const added = after.map((size, index) => (size - before[index]) / (ELEMENTS * 8));
    return { value: Math.max(...added) };
  } finally {
    await contender.close();
  }
}

/** Bytes that belong to each process alone, plus its share of those that it shares. */
async function memoryOf(pids) {
  return await Promise.all(
    pids.map(async (pid) => {
      const text = await readFile(`/proc/${pid}/smaps_rollup`, "utf8");
      return Number(/^Pss:\s+(\d+) kB/m.exec(text)[1]) * 1024;
    }),
  );
}

export const points = [
  {
    name: "payload/shared-100mb",
    title: `read an array of ${(ELEMENTS * 8) / MEGABYTE} MB in 200 calls, two at a time: shared, against passing it to each call`,
    unit: "ms/call",
    better: "less",
    rounds: 3,
    contenders: ["wool-share", "wool-argument"],
    targets: { "wool-argument": 50 },
    measureFresh: perCall,
  },
  ...(platform() === "linux"
    ? [
        {
          name: "payload/shared-memory",
          title: "the same in a worker process of two threads: copies in its memory",
          unit: "copies",
          better: "less",
          rounds: 3,
          contenders: ["wool-share"],
          goals: { "wool-share": 1.25 },
          measureFresh: copies,
        },
      ]
    : []),
];
