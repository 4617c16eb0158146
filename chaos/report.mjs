import { HEAP_BOUND_BYTES, RSS_BOUND_BYTES } from "./checker.mjs";

/** The summary of a run. */
export function reportLines({ figures, violations }) {
  const { calls, executions, processes, kinds, outcomes, faults, longest, frozen, memory } = figures;
  return [
    "",
    `calls: ${calls} (${list(kinds)})`,
    `executions: ${executions} in ${processes} processes`,
    `outcomes: ${list(outcomes)}`,
    `faults: ${Object.entries(faults)
      .map(([kind, { done, missed }]) => `${kind} ${done}${missed > 0 ? ` (${missed} met nobody)` : ""}`)
      .join(", ")}`,
    ...(longest === undefined ? [] : [`longest call: ${longest.ms} ms, ${longest.call}: ${longest.outcome}`]),
    `frozen workers: ${frozen.freezes} freezes; of the calls to their groups meanwhile ${frozen.slow} took a second or more, ` +
      `${frozen.timedOut} of these ended with TaskTimeout, the longest took ${frozen.longestMs} ms`,
    ...(memory === undefined ? [] : memoryLines(memory)),
    "",
    ...(violations.length === 0 ? ["no violations"] : violations.flatMap(violationLines)),
  ];
}

function memoryLines({ before, after }) {
  const change = (from, to) => `${megabytes(from)} before, ${megabytes(to)} after`;
  return [
    `heap of the caller: ${change(before.heap, after.heap)} (may grow by ${megabytes(HEAP_BOUND_BYTES)})`,
    `resident set of the caller: ${change(before.rss, after.rss)} (may grow by ${megabytes(RSS_BOUND_BYTES)})`,
    `file descriptors of the caller: ${before.descriptors} before, ${after.descriptors} after (may not grow)`,
  ];
}

function violationLines({ rule, count, examples }) {
  return [`VIOLATION: ${rule}: ${count}`, ...examples.map((text) => `  - ${text}`)];
}

function list(counts) {
  return Object.entries(counts)
    .toSorted(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`)
    .join(", ");
}

/** A number of bytes for people. */
export function megabytes(bytes) {
  return `${(bytes / 2 ** 20).toFixed(1)} MB`;
}
