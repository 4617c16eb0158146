import { explainedBy } from "./faults.mjs";

/** Failures that a call may end with, but only while a fault explains them. */
const DOCUMENTED = new Set([
  "WorkerLost",
  "TaskTimeout",
  "NoWorkersAvailable",
  "PoolSaturated",
  "PoolClosed",
  "TaskCancelled",
]);

/** A fault may affect calls that begin up to this long after it was over, in milliseconds. */
const AFTERMATH_MS = 2500;

/** How many violations of a rule are reported in full. */
const EXAMPLES = 5;

/** How much memory may grow from the end of the warm-up to the end of the run, in bytes. */
export const HEAP_BOUND_BYTES = 8 * 1024 * 1024;
export const RSS_BOUND_BYTES = 160 * 1024 * 1024;

/**
 * Judges a run. A pure function.
 *
 * - `calls`: each call that ended: `{ token, kind, group, start, end, bound, outcome, expected, idempotent, ran, wrong }`.
 *   `outcome` is `"ok"` or the name of the failure's class; `expected`: outcomes that need no fault; `ran`: tokens that
 *   must have been noted if the outcome is an answer; `wrong`: what is wrong with the answer.
 * - `pending`: calls that never ended, `waitingFor` says for what.
 * - `runs`: `{ token, pid }` for each execution, as the tasks noted it.
 * - `incidents`: `{ group, kind, start, end }`: what was done to whom.
 * - `leftovers`: a list of what is left behind for each place that was looked at.
 * - `crashes`: what worker processes wrote that ended for an error of their own.
 * - `memory`: `{ before, after }`, each `{ heap, rss, descriptors }`.
 */
export function check({ calls, pending, runs, incidents, leftovers, crashes = [], memory }) {
  const violations = new Violations();
  const made = new Map();
  for (const call of [...calls, ...pending]) made.set(call.token, call);
  const counts = countRuns(runs, made, violations);
  for (const call of calls) checkCall(call, counts, incidents, violations);
  for (const call of pending) {
    violations.add("a call never ended", `${name(call)} waited for ${call.waitingFor} from ${seconds(call.start)} on`);
  }
  for (const [place, names] of Object.entries(leftovers)) {
    for (const each of names) violations.add(`something is left: ${place}`, each);
  }
  for (const crash of crashes) violations.add("a worker process crashed", crash);
  if (memory !== undefined) checkMemory(memory, violations);
  return violations.list();
}

function countRuns(runs, made, violations) {
  const counts = new Map();
  for (const { token, pid } of runs) {
    const pids = counts.get(token);
    if (pids === undefined) counts.set(token, [pid]);
    else pids.push(pid);
  }
  for (const [token, pids] of counts) {
    const call = made.get(baseOf(token));
    if (call === undefined) {
      violations.add("a task ran that nobody called", `${token} in process ${pids.join(", ")}`);
      continue;
    }
    const most = call.idempotent === true ? 2 : 1;
    if (pids.length > most) {
      violations.add("a task ran twice", `${name(call)}: ${token} in the processes ${pids.join(", ")}`);
    }
  }
  return counts;
}

function checkCall(call, counts, incidents, violations) {
  const { outcome, start, end, bound } = call;
  if (end - start > bound) {
    violations.add("a call took longer than its bound", `${name(call)} took ${end - start} ms of ${bound}: ${outcome}`);
  }
  if (call.wrong !== undefined) {
    violations.add("a wrong answer", `${name(call)}: ${call.wrong}`);
  }
  for (const token of call.ran ?? []) {
    if (!counts.has(token)) violations.add("an answer without a run", `${name(call)}: ${token} was noted nowhere`);
  }
  for (const token of call.closes ?? []) {
    if (counts.has(token) || isExplained({ ...call, outcome: "WorkerLost" }, incidents)) continue;
    violations.add(
      "a generator that was not closed",
      `${name(call)}: return() was answered, ${token} was noted nowhere`,
    );
  }
  if (call.expected.includes(outcome)) return;
  if (!DOCUMENTED.has(outcome)) {
    violations.add("an error of an unexpected kind", `${name(call)} ended with ${outcome}: ${call.message}`);
  } else if (!isExplained(call, incidents)) {
    const near = describeNear(call, incidents);
    violations.add("a failure that no fault explains", `${name(call)} ended with ${outcome}: ${call.message}${near}`);
  }
}

function isExplained({ group, start, end, outcome }, incidents) {
  return incidents.some(
    (incident) =>
      incident.group === group &&
      incident.start <= end &&
      incident.end + AFTERMATH_MS >= start &&
      explainedBy(incident.kind).includes(outcome),
  );
}

function describeNear({ group, start, end }, incidents) {
  const near = incidents.filter((each) => each.group === group && each.start <= end && each.end + 10_000 >= start);
  const list = near.map(({ kind, start, end }) => `${kind} ${seconds(start)} to ${seconds(end)}`);
  return ` (called at ${seconds(start)}, ended at ${seconds(end)}; nearby: ${list.join(", ") || "nothing"})`;
}

function checkMemory({ before, after }, violations) {
  const heap = after.heap - before.heap;
  const rss = after.rss - before.rss;
  if (heap > HEAP_BOUND_BYTES) violations.add("memory is not back", `the heap grew by ${heap} bytes`);
  if (rss > RSS_BOUND_BYTES) violations.add("memory is not back", `the resident set grew by ${rss} bytes`);
  if (after.descriptors > before.descriptors) {
    violations.add(
      "file descriptors are not back",
      `${before.descriptors} before, ${after.descriptors} after: ${(after.opened ?? []).join(", ")}`,
    );
  }
}

/** Counts of calls by kind, outcomes by class, and the slowest call. There may be many calls, so it makes one pass. */
export function summarize(calls, runs) {
  const kinds = {};
  const outcomes = {};
  let longest;
  let count = 0;
  for (const call of calls) {
    count++;
    kinds[call.kind] = (kinds[call.kind] ?? 0) + 1;
    const outcome =
      call.expected.includes(call.outcome) && call.outcome !== "ok" ? `${call.outcome}, as asked` : call.outcome;
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    if (longest === undefined || call.end - call.start > longest.end - longest.start) longest = call;
  }
  return {
    calls: count,
    executions: runs.length,
    processes: new Set(runs.map(({ pid }) => pid)).size,
    kinds,
    outcomes,
    longest: longest && { ms: longest.end - longest.start, call: name(longest), outcome: longest.outcome },
  };
}

/**
 * The cost of frozen workers for calls: those that timed out while a worker of their group was frozen, and the waiting
 * time of all.
 */
export function freezePenalties(calls, incidents) {
  const freezes = incidents.filter(({ kind }) => kind === "freeze");
  let timedOut = 0;
  let slow = 0;
  let longestMs = 0;
  for (const { group, start, end, outcome, expected } of calls) {
    const met = freezes.some((freeze) => freeze.group === group && freeze.start <= end && freeze.end >= start);
    if (!met) continue;
    if (outcome === "TaskTimeout" && !expected.includes(outcome)) timedOut++;
    if (end - start >= 1000) slow++;
    longestMs = Math.max(longestMs, end - start);
  }
  return { freezes: freezes.length, timedOut, slow, longestMs };
}

function name({ token, kind, group }) {
  return `${kind} ${token} on ${group}`;
}

function seconds(ms) {
  return `${(ms / 1000).toFixed(3)}s`;
}

/** The call that a token belongs to: tasks of one call have its token and a suffix. */
function baseOf(token) {
  const dot = token.indexOf(".");
  return dot < 0 ? token : token.slice(0, dot);
}

class Violations {
  #rules = new Map();

  add(rule, text) {
    const found = this.#rules.get(rule) ?? { rule, count: 0, examples: [] };
    found.count++;
    if (found.examples.length < EXAMPLES) found.examples.push(text);
    this.#rules.set(rule, found);
  }

  list() {
    return [...this.#rules.values()];
  }
}
