/**
 * The process that calls. It makes groups of workers, calls of all kinds, and the faults of a schedule, and writes a
 * journal. The process that started it checks what is left, and judges. The settings are in a file that it is given.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CallLog } from "./call-log.mjs";
import { FleetGroup, NetGroup, PoolGroup, TcpGroup } from "./groups.mjs";
import { Injector } from "./injector.mjs";
import { Journal } from "./journal.mjs";
import { Load } from "./load.mjs";
import { openDescriptors } from "./open-descriptors.mjs";
import { ownProcesses } from "./own-processes.mjs";
import { until } from "./until.mjs";

/** How long calls may take to end after the last was made: longer than any bound, in milliseconds. */
const LAST_CALLS_MS = 40_000;
const STOP_BOUND_MS = 15_000;
/** How long closed resources may take to be gone, in milliseconds. */
const SETTLE_MS = 10_000;
/** How long the process may take to end by itself, in milliseconds. */
const END_MS = 5000;
const GC_ROUNDS = 4;

const settings = JSON.parse(readFileSync(process.argv[2], "utf8"));
const { run, seed, schedule, folder, network } = settings;
const notes = join(folder, "notes");
const journal = new Journal(join(folder, "journal"));
const log = new CallLog(journal);
const hosts = new Set();

function makeGroups(part) {
  return [
    new PoolGroup(),
    new FleetGroup(`fleet-${run}-${part}`, hosts),
    new TcpGroup(),
    ...(network === undefined ? [] : [new NetGroup(`net-${run}-${part}`, hosts, network)]),
  ];
}

async function stopAll(groups) {
  await Promise.all(
    groups.map((group) =>
      log.record({ kind: "stop", group: group.name, bound: STOP_BOUND_MS }, async () => {
        await group.stop();
      }),
    ),
  );
}

/** Uses everything once, so that everything that is made once per process exists before memory is measured. */
async function warmUp() {
  const groups = makeGroups("warm-up");
  await Promise.all(groups.map((group) => group.start()));
  const load = new Load(log, notes, seed);
  await Promise.all(groups.map((group) => load.tryEverything(group)));
  await stopAll(groups);
}

async function makeChaos() {
  const groups = makeGroups("run");
  await Promise.all(groups.map((group) => group.start()));
  const load = new Load(log, notes, seed);
  const injector = new Injector({ groups, log, journal, folder: notes, run, network });
  load.start(groups);
  await injector.inject(schedule);
  const ended = load.end();
  await Promise.race([ended, until(() => log.underWay === 0, LAST_CALLS_MS)]);
  log.giveUp();
  await stopAll(groups);
  return injector.figures;
}

async function measure() {
  for (let round = 0; round < GC_ROUNDS; round++) {
    globalThis.gc();
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { heapUsed, rss } = process.memoryUsage();
  const opened = openDescriptors();
  return { heap: heapUsed, rss, descriptors: opened.length, opened };
}

function socketFiles() {
  return readdirSync(process.env.XDG_RUNTIME_DIR, { recursive: true }).filter((name) => name.endsWith(".sock"));
}

/** What this process still waits for, besides what it waited for at the start. */
function newResources(before) {
  const found = process.getActiveResourcesInfo();
  for (const name of before) {
    const index = found.indexOf(name);
    if (index >= 0) found.splice(index, 1);
  }
  return found;
}

await warmUp();
await until(() => ownProcesses(run).length === 0, SETTLE_MS);
const resources = process.getActiveResourcesInfo();
const before = await measure();
const faults = await makeChaos();
await until(() => ownProcesses(run).length === 0 && openDescriptors().length <= before.descriptors, SETTLE_MS);
const after = await measure();
journal.close();
writeFileSync(
  join(folder, "report.json"),
  JSON.stringify({
    faults,
    memory: { before, after },
    hosts: [...hosts],
    leftovers: {
      "handles and timers of the caller": newResources(resources),
      "processes after all pools were stopped": ownProcesses(run),
      "sockets after all pools were stopped": socketFiles(),
    },
  }),
);
// A program that has stopped its pools must end by itself.
setTimeout(() => {
  console.error(`the caller did not end by itself: ${process.getActiveResourcesInfo().join(", ")}`);
  process.exit(3);
}, END_MS).unref();
