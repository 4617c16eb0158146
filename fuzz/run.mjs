/** Feeds a worker and a caller with invalid and excessive input, and reports the effects. `--help` shows the options. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { flood, floods } from "./floods.mjs";
import { beGreedy, greedyAttacks } from "./greed.mjs";
import { fuzzCaller } from "./hostile-worker.mjs";
import { fuzzLanes } from "./lanes.mjs";
import { Random } from "./random.mjs";
import { recordCaller, recordWorker } from "./record.mjs";
import { fuzzSessions } from "./sessions.mjs";
import { fuzzSockets } from "./sockets.mjs";
import { startVictim } from "./victim.mjs";

const HELP = `Usage: npm run fuzz -- [--inputs N] [--seed N] [--quick]
                          [--only sessions|sockets|lanes|floods|greed|caller] [--part N/M]

  --inputs N   messages in all, a million by default
  --seed N     repeats a run
  --quick      20,000 inputs, and floods a hundredth as long
  --only NAME  one kind of attack
  --part N/M   of the floods, and of what greed does, the Nth of M parts, or those whose name has this text

Fails when a process ends, a call of an innocent caller fails or takes more than a second (five with --quick), or the
worker takes more than 1,600 MB, and half of one for each connection beyond a hundred that it has had at once. How long calls of
a worker that nobody attacks take is shown beside.`;

const { values } = parseArgs({
  options: {
    inputs: { type: "string" },
    seed: { type: "string" },
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    part: { type: "string", default: "1/1" },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  console.log(HELP);
  process.exit(0);
}

/**
 * A worker of 75 MB, the largest that limits allow one attack (about 350 MB), and what earlier attacks have left behind: V8
 * collects garbage of a thread when that thread allocates more, so each of its two threads may keep as much as it once had.
 */
const MOST_MB = 1600;
const MB_PER_CONNECTION = 0.5;
const FREE_CONNECTIONS = 100;
/** By default 1.25 GiB, and 2 GiB for all callers together, which is more than the bound. */
const UNFINISHED_BYTES = 256 * 1024 * 1024;
const MOST_MS = values.quick ? 5000 : 1000;
/** Messages between two reports. */
const PIECE = 50_000;
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const inputs = Number(values.inputs ?? (values.quick ? 20_000 : 1_000_000));
const random = new Random(seed);
const corpusFolder = fileURLToPath(new URL("corpus", import.meta.url));
const faults = [];
console.log(`seed ${seed}, ${inputs} inputs`);

function wants(name) {
  return values.only === undefined || values.only === name;
}

/** The names that belong to the part that was asked for. */
function ofPart(names) {
  if (!/^\d+\/\d+$/.test(values.part)) return names.filter((name) => name.includes(values.part));
  const [part, parts] = values.part.split("/").map(Number);
  return names.filter((_, i) => Math.floor((i * parts) / names.length) === part - 1);
}

function note(name, { peak, worst, usual = 0, failures = [], connections = 0 }, text) {
  const slowest = `worst ${worst.toFixed(0)} ms${usual === 0 ? "" : `, elsewhere ${usual.toFixed(0)} ms`}`;
  console.log(`${name.padEnd(44)} ${text.padEnd(40)} peak ${peak.toFixed(0)} MB, ${slowest}`);
  const mostMb = MOST_MB + MB_PER_CONNECTION * Math.max(0, connections - FREE_CONNECTIONS);
  if (peak > mostMb) faults.push(`${name}: ${peak.toFixed(0)} MB`);
  if (worst > MOST_MS) faults.push(`${name}: a call, or a turn of the event loop, took ${worst.toFixed(0)} ms`);
  for (const failure of new Set(failures)) faults.push(`${name}: a call of an innocent caller failed: ${failure}`);
}

async function report(victim, control, name, text, connections) {
  const { worst, failures, calls } = await victim.latency();
  const { worst: usual } = await control.latency();
  note(name, { peak: victim.takePeak(), worst, usual, failures, connections }, `${text}, ${calls} calls served`);
}

const recorded = await recordCaller();
mkdirSync(corpusFolder, { recursive: true });
if (readdirSync(corpusFolder).length === 0) {
  for (const [i, message] of recorded.messages.filter(({ length }) => length < 20_000).entries()) {
    writeFileSync(`${corpusFolder}/recorded-${i}.bin`, message);
  }
}
const corpus = readdirSync(corpusFolder).map((file) => readFileSync(`${corpusFolder}/${file}`));

if (values.only !== "caller") {
  const limits = { maxUnfinishedBytes: UNFINISHED_BYTES, maxUnfinishedTotal: UNFINISHED_BYTES };
  const victim = await startVictim({ threads: 1, limits });
  // Nobody attacks this one: its calls show how busy the machine is.
  const control = await startVictim({ threads: 1 });
  const { pid } = victim;
  await victim.watch();
  await control.watch();
  console.log(`a worker of ${victim.baseline.toFixed(0)} MB`);
  await victim.latency();
  await control.latency();
  if (wants("sessions")) {
    for (let left = Math.floor(inputs * 0.8); left > 0; left -= PIECE) {
      const count = Math.min(left, PIECE);
      const { sessions, lanes } = await fuzzSessions(victim, random, recorded, count, corpus);
      const text = `${count} in ${sessions} sessions, ${lanes} with a lane`;
      await report(victim, control, "messages that are nearly right", text);
    }
  }
  if (wants("sockets")) {
    const { inputs: connections } = await fuzzSockets(victim, random, Math.floor(inputs * 0.02));
    await report(victim, control, "noise on sockets", `${connections} connections`);
  }
  if (wants("lanes")) {
    const { inputs: connections } = await fuzzLanes(victim, control, random, recorded, Math.floor(inputs * 0.02));
    await report(victim, control, "strangers at a task thread", `${connections} connections`);
  }
  if (wants("floods")) {
    for (const name of ofPart(Object.keys(floods))) {
      const { sent, closed } = await flood(victim, name, values.quick ? 0.01 : 1);
      await report(victim, control, `flood: ${name}`, `${sent} pieces${closed ? ", hung up" : ""}`);
    }
  }
  if (wants("greed")) {
    // Memory of connections that are gone is not given back to the system at once.
    let mostConnections = 0;
    for (const name of ofPart(greedyAttacks)) {
      const { sent, status, connections } = await beGreedy(victim, name, values.quick ? 0.01 : 1);
      mostConnections = Math.max(mostConnections, connections);
      const text = `${sent}${status === undefined ? "" : ", hung up"}`;
      await report(victim, control, `greed: ${name}`, text, mostConnections);
    }
  }
  if (victim.worker.metadata?.pid !== pid) faults.push("the worker was replaced");
  await victim.stop();
  await control.stop();
}
if (wants("caller")) {
  const recorder = await startVictim({ threads: 1 });
  const answers = await recordWorker(recorder.path, recorded);
  await recorder.stop();
  const outcome = await fuzzCaller(random, Math.floor(inputs * 0.18), answers);
  note("a hostile worker", outcome, `${outcome.inputs} messages`);
  if (outcome.crashed !== undefined) faults.push(`the caller ended with ${String(outcome.crashed)}`);
}
for (const fault of faults) console.error(`FAULT ${fault}`);
console.log(faults.length === 0 ? "nothing was harmed" : `${faults.length} faults; repeat with --seed ${seed}`);
process.exit(faults.length === 0 ? 0 : 1);
