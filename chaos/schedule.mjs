import { FAULTS, SLOTS } from "./faults.mjs";
import { Random } from "./random.mjs";

/**
 * The faults, their targets and their times: a pure function of the seed, the duration, the pace and the allowed kinds.
 * Each round of faults has every kind as often as the table says, in another order, so that even short runs have all of
 * them.
 */
export function makeSchedule({ seed, durationMs, meanGapMs, kinds, network }) {
  const random = new Random(seed, "faults");
  const faults = FAULTS.filter(({ kind }) => kinds.includes(kind));
  if (faults.length === 0) throw new Error("there is no fault to inject");
  const schedule = [];
  let round = [];
  for (let at = gap(random, meanGapMs); at < durationMs; at += gap(random, meanGapMs)) {
    if (round.length === 0) round = random.shuffle(faults.flatMap((fault) => new Array(fault.often).fill(fault)));
    const fault = round.pop();
    const targets = fault.targets.filter((target) => network || target !== "net").flatMap((target) => SLOTS[target]);
    schedule.push({ at, kind: fault.kind, target: random.pick(targets), ...fault.draw(random) });
  }
  return schedule;
}

/** Between a third and five thirds of the mean. */
function gap(random, mean) {
  return random.integer(Math.round(mean / 3), Math.round((mean * 5) / 3));
}

/** One line for a fault. */
export function describeFault({ at, kind, target, ...details }) {
  const rest = Object.entries(details).map(([name, value]) => ` ${name}=${value}`);
  return `${(at / 1000).toFixed(3).padStart(8)}s  ${kind} ${target}${rest.join("")}`;
}
