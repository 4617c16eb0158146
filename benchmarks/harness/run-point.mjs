import { ContenderProcess } from "./contender-process.mjs";
import { median, permutations, spread } from "./statistics.mjs";

/**
 * Measures one point: every contender in each round, so that other load on the machine affects all of them alike.
 * `settings`: `rounds`, `durationMs`, `warmUpMs`, `quick`, `stepsPerMs`. `onProgress` is called with what is being
 * measured.
 */
export async function runPoint(point, settings, onProgress) {
  const rounds = Math.min(settings.rounds, point.rounds ?? settings.rounds);
  const samples = new Map(point.contenders.map((name) => [name, []]));
  const measureAll = point.inside ? measureInside : point.measureFresh ? measureFresh : measureOpen;
  await measureAll(point, { ...settings, rounds }, (name, sample) => samples.get(name).push(sample), onProgress);
  return new Map([...samples].map(([name, list]) => [name, summarize(list)]));
}

/** The contenders stay open over all rounds. */
async function measureOpen(point, settings, record, onProgress) {
  const processes = new Map();
  try {
    for (const name of point.contenders) {
      onProgress(`opening ${name}`);
      const contender = new ContenderProcess(point.name, name);
      processes.set(name, contender);
      await contender.open();
      onProgress(`warming up ${name}`);
      await contender.warmUp({ ...settings, durationMs: settings.warmUpMs });
    }
    for (let round = 0; round < settings.rounds; round++) {
      for (const name of rotate(point.contenders, round)) {
        onProgress(`round ${round + 1} of ${settings.rounds}, ${name}`);
        record(name, await processes.get(name).measure(settings));
      }
    }
  } finally {
    await Promise.all([...processes.values()].map((contender) => contender.close()));
  }
}

/** Each figure comes from a process that has done nothing before. */
async function measureFresh(point, settings, record, onProgress) {
  for (let round = 0; round < settings.rounds; round++) {
    for (const name of rotate(point.contenders, round)) {
      onProgress(`round ${round + 1} of ${settings.rounds}, ${name}`);
      const contender = new ContenderProcess(point.name, name);
      try {
        record(name, await contender.measureFresh(settings));
      } finally {
        await contender.close();
      }
    }
  }
}

/**
 * The contenders are ways to use one contender, `point.inside`, in one process: two equal processes differ by more than
 * the effect to be measured. Takes short turns, in every order equally often, in a few processes, because their state
 * matters too.
 */
async function measureInside(point, settings, record, onProgress) {
  const orders = permutations(point.contenders);
  for (let round = 0; round < settings.rounds; round++) {
    onProgress(`process ${round + 1} of ${settings.rounds}`);
    const contender = new ContenderProcess(point.name, point.inside);
    try {
      await contender.open();
      await contender.warmUp(settings);
      for (let turn = 0; turn < (settings.quick ? point.turns / 4 : point.turns); turn++) {
        for (const way of orders[turn % orders.length]) record(way, await contender.measure({ ...settings, way }));
      }
    } finally {
      await contender.close();
    }
  }
}

/** Returns the contenders in an order in which none always comes first. */
function rotate(list, by) {
  const start = by % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}

function summarize(samples) {
  const values = samples.map((sample) => sample.value);
  const latencies = samples.flatMap((sample) => sample.latencyUs ?? []);
  return {
    value: median(values),
    spread: spread(values),
    rounds: values,
    ...(latencies.length > 0 && { latencyUs: median(latencies) }),
  };
}
