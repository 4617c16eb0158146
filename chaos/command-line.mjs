import { parseArgs } from "node:util";
import { FAULTS } from "./faults.mjs";

export const CHAOS_USAGE = `usage: npm run chaos -- [--seed N] [--minutes M | --seconds S] [--only FAULT,...] [--quick]
                        [--network] [--list] [--json FILE] [--keep]

  --seed N      repeats the faults and the calls of a run; default: a new one
  --minutes M   how long to make calls and faults; default: 2
  --seconds S   the same in seconds
  --only A,B    only these faults; --list names them
  --quick       25 seconds with faults in quick succession
  --network     fail where no network namespace can be made, instead of leaving those faults out
  --list        print the faults that there are, and the schedule of the seed, and do nothing
  --json FILE   also write every figure and violation to FILE
  --keep        keep the folder with the journal and the output of the workers`;

export const SOAK_USAGE = `usage: npm run soak -- [--tasks N] [--streams N] [--quick] [--json FILE]

  --tasks N     default: 1000000
  --streams N   default: 100000
  --quick       100000 tasks and 10000 streams
  --json FILE   also write every sample to FILE`;

/** Throws with a message for the user when the arguments are wrong. */
export function parseChaosCommandLine(args) {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      minutes: { type: "string" },
      seconds: { type: "string" },
      only: { type: "string" },
      quick: { type: "boolean", default: false },
      network: { type: "boolean", default: false },
      list: { type: "boolean", default: false },
      json: { type: "string" },
      keep: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.minutes !== undefined && values.seconds !== undefined) throw new Error("give --minutes or --seconds");
  const known = FAULTS.map(({ kind }) => kind);
  const only = values.only?.split(",");
  for (const kind of only ?? []) {
    if (!known.includes(kind)) throw new Error(`${JSON.stringify(kind)} is not a fault: there are ${known.join(", ")}`);
  }
  const seconds = values.seconds ?? (values.minutes === undefined ? undefined : 60 * number(values.minutes, "minutes"));
  return {
    ...values,
    seed: values.seed === undefined ? undefined : wholeNumber(values.seed, "seed"),
    durationMs: 1000 * (seconds === undefined ? (values.quick ? 25 : 120) : number(seconds, "seconds")),
    meanGapMs: values.quick ? 300 : 500,
    only,
  };
}

/** Throws with a message for the user when the arguments are wrong. */
export function parseSoakCommandLine(args) {
  const { values } = parseArgs({
    args,
    options: {
      tasks: { type: "string" },
      streams: { type: "string" },
      quick: { type: "boolean", default: false },
      json: { type: "string" },
      help: { type: "boolean", default: false },
    },
  });
  return {
    ...values,
    tasks: wholeNumber(values.tasks ?? (values.quick ? 100_000 : 1_000_000), "tasks"),
    streams: wholeNumber(values.streams ?? (values.quick ? 10_000 : 100_000), "streams"),
  };
}

function number(value, name) {
  const parsed = Number(value);
  if (!(parsed > 0 && Number.isFinite(parsed))) throw new Error(`--${name} takes a number above 0, not ${value}`);
  return parsed;
}

function wholeNumber(value, name) {
  const parsed = Number(value);
  if (!Number.isSafeInteger(parsed) || parsed < 0) throw new Error(`--${name} takes a whole number, not ${value}`);
  return parsed;
}
