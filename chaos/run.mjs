import { spawn } from "node:child_process";
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { check, freezePenalties, summarize } from "./checker.mjs";
import { CHAOS_USAGE, parseChaosCommandLine } from "./command-line.mjs";
import { FAULTS } from "./faults.mjs";
import { readJournal, readNotes } from "./journal.mjs";
import { Network, namespaceProblem } from "./network.mjs";
import { findCrashes, lastWords } from "./output.mjs";
import { ownProcesses, RUN_MARK } from "./own-processes.mjs";
import { reportLines } from "./report.mjs";
import { describeFault, makeSchedule } from "./schedule.mjs";
import { until } from "./until.mjs";

const DRIVER = fileURLToPath(new URL("./driver.mjs", import.meta.url));
/** How long the driver may take besides the time of the faults, in milliseconds: warm-up, the last calls, the end. */
const EXTRA_MS = 150_000;
/** How long processes may take to end after the process that called them, in milliseconds. */
const END_MS = 10_000;
const MOST_LINES = 60;

/** Thrown when a signal ends the run: there is nothing to judge. */
class Interrupted extends Error {}

async function main(options) {
  if (options.help) return console.log(CHAOS_USAGE);
  const seed = options.seed ?? Math.floor(Math.random() * 2 ** 31);
  const network = await makeNetwork();
  try {
    if (options.network && network.problem !== undefined) throw new Error(network.problem);
    const kinds = choose(options, network);
    const schedule = makeSchedule({ ...options, seed, kinds, network: network.problem === undefined });
    console.log(header(options, seed, kinds, schedule).join("\n"));
    if (!options.list) await runOnce(options, seed, schedule, network.made);
  } finally {
    await network.made?.remove();
  }
}

/** The network of the run, or why there is none. */
async function makeNetwork() {
  const problem = namespaceProblem();
  if (problem !== undefined) return { problem, netemProblem: problem };
  const made = new Network();
  try {
    await made.create();
    return { made, netemProblem: made.netemProblem };
  } catch (error) {
    const reason = `a network namespace cannot be made: ${String(error.stderr ?? error.message).trim()}`;
    return { problem: reason, netemProblem: reason };
  }
}

/** The kinds of faults that were asked for and are possible here. Prints which are not. */
function choose({ only }, { problem, netemProblem }) {
  const problems = { namespaces: problem, netem: netemProblem };
  const wanted = FAULTS.filter(({ kind }) => only === undefined || only.includes(kind));
  for (const { kind, needs } of wanted) {
    if (problems[needs] !== undefined) console.log(`LEFT OUT: ${kind}: ${problems[needs]}`);
  }
  if (problem !== undefined) console.log(`LEFT OUT: workers beyond a network link: ${problem}`);
  return wanted.filter(({ needs }) => problems[needs] === undefined).map(({ kind }) => kind);
}

function header(options, seed, kinds, schedule) {
  const shown = options.list ? schedule : schedule.slice(0, MOST_LINES);
  const rest = schedule.length - shown.length;
  return [
    `seed ${seed}, ${options.durationMs / 1000} s, ${schedule.length} faults of ${kinds.length} kinds`,
    ...(options.list ? FAULTS.map(({ kind, what }) => `  ${kind}: ${what}`) : []),
    ...shown.map(describeFault),
    ...(rest > 0 ? [`          and ${rest} more: --list prints them`] : []),
  ];
}

async function runOnce(options, seed, schedule, network) {
  const folder = mkdtempSync(join(tmpdir(), "wool-chaos-"));
  try {
    const settings = prepare(folder, seed, schedule, network);
    const exit = await drive(settings, options.durationMs + EXTRA_MS);
    const verdict = await judge(settings, exit, network);
    console.log(reportLines(verdict).join("\n"));
    if (options.json !== undefined) {
      writeFileSync(options.json, `${JSON.stringify({ seed, durationMs: options.durationMs, ...verdict }, null, 2)}\n`);
    }
    if (verdict.violations.length > 0) {
      process.exitCode = 1;
      console.log(`again: npm run chaos -- --seed ${seed} --seconds ${options.durationMs / 1000}${again(options)}`);
    }
  } finally {
    if (options.keep) console.log(`kept: ${folder}`);
    else rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
}

function again({ quick, only }) {
  return `${quick ? " --quick" : ""}${only === undefined ? "" : ` --only ${only.join(",")}`}`;
}

function prepare(folder, seed, schedule, network) {
  const run = `${process.pid}-${seed}`;
  for (const name of ["notes", "runtime"]) mkdirSync(join(folder, name), { mode: 0o700 });
  const place = network && { workerNamespace: network.workerNamespace, workerAddress: network.workerAddress };
  const settings = { run, seed, schedule, folder, network: place, callerNamespace: network?.callerNamespace };
  writeFileSync(join(folder, "settings.json"), JSON.stringify(settings));
  return settings;
}

/** Runs the driver. Resolves with its problem, or undefined if it has none. */
async function drive({ run, folder, callerNamespace }, limitMs) {
  const within = callerNamespace === undefined ? [] : ["ip", "netns", "exec", callerNamespace];
  const settings = join(folder, "settings.json");
  const [command, ...args] = [...within, process.execPath, "--expose-gc", DRIVER, settings];
  const driver = spawn(command, args, {
    stdio: ["ignore", "inherit", "pipe"],
    env: { ...process.env, [RUN_MARK]: run, XDG_RUNTIME_DIR: join(folder, "runtime") },
  });
  const output = createWriteStream(join(folder, "output"));
  driver.stderr.pipe(output);
  const stop = () => driver.kill("SIGKILL");
  let interrupted = false;
  const interrupt = () => {
    interrupted = true;
    stop();
  };
  for (const each of ["SIGINT", "SIGTERM"]) process.once(each, interrupt);
  let problem;
  const timer = setTimeout(() => {
    problem = `it did not end within ${limitMs} ms`;
    stop();
  }, limitMs);
  const [code, signal] = await new Promise((resolve) => driver.once("exit", (...how) => resolve(how)));
  clearTimeout(timer);
  for (const each of ["SIGINT", "SIGTERM"]) process.off(each, interrupt);
  if (interrupted) {
    await until(() => ownProcesses(run).length === 0, END_MS);
    throw new Interrupted();
  }
  if (code === 0) return { pid: driver.pid };
  return {
    pid: driver.pid,
    problem: `${problem ?? `it ended with ${signal ?? code}`}\n${lastWords(readOutput(folder))}`,
  };
}

async function judge({ run, folder }, { pid, problem }, network) {
  await until(() => ownProcesses(run).length === 0, END_MS);
  const left = ownProcesses(run);
  const reportPath = join(folder, "report.json");
  const report = existsSync(reportPath) ? JSON.parse(readFileSync(reportPath, "utf8")) : { faults: {}, hosts: [] };
  await network?.remove();
  const leftovers = {
    ...report.leftovers,
    "processes after the caller ended": left,
    "files in the runtime directory": readdirSync(join(folder, "runtime"), { recursive: true }).filter(
      (name) => name !== "wool",
    ),
    "payload files": payloadFolders([pid, ...report.hosts]),
    "network namespaces": network?.leftovers() ?? [],
    ...(problem === undefined ? {} : { "the process that calls": [problem] }),
  };
  const { calls, pending, incidents } = readJournal(join(folder, "journal"));
  const runs = readNotes(join(folder, "notes"));
  const { memory } = report;
  const crashes = findCrashes(readOutput(folder));
  return {
    figures: { ...summarize(calls, runs), faults: report.faults, frozen: freezePenalties(calls, incidents), memory },
    violations: check({ calls, pending, runs, incidents, leftovers, crashes, memory }),
  };
}

function readOutput(folder) {
  return readFileSync(join(folder, "output"), "utf8");
}

/** Folders for payloads of processes of this run: their names begin with the id of the process. */
function payloadFolders(pids) {
  const root = `/dev/shm/wool-${process.geteuid?.()}`;
  const prefixes = pids.map((pid) => `p${pid.toString(36)}-`);
  if (!existsSync(root)) return [];
  return readdirSync(root).filter((name) => prefixes.some((prefix) => name.startsWith(prefix)));
}

function readOptions() {
  try {
    return parseChaosCommandLine(process.argv.slice(2));
  } catch (error) {
    console.error(`${error.message}\n\n${CHAOS_USAGE}`);
    process.exit(2);
  }
}

try {
  await main(readOptions());
} catch (error) {
  console.error(error instanceof Interrupted ? "interrupted" : error.stack);
  process.exitCode = 2;
}
