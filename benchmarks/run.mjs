import { writeFile } from "node:fs/promises";
import { calibrateBurn } from "./contenders/burn.mjs";
import { catalogue } from "./harness/catalogue.mjs";
import { parseCommandLine, USAGE } from "./harness/command-line.mjs";
import { describeMachine, machineLines } from "./harness/machine.mjs";
import { pointLines, summaryLine } from "./harness/report.mjs";
import { runPoint } from "./harness/run-point.mjs";
import { brokenFloors, judge } from "./harness/verdict.mjs";

const THOROUGH = { rounds: 5, durationMs: 1_000, warmUpMs: 1_500, quick: false };
const QUICK = { rounds: 3, durationMs: 300, warmUpMs: 700, quick: true };

async function main(args) {
  const options = parseCommandLine(args);
  if (options.help) return console.log(USAGE);
  const points = catalogue.filter(
    (point) => point.name.includes(options.filter) && (!options.floors || point.floors !== undefined),
  );
  if (points.length === 0) throw new Error(`no point has "${options.filter}" in its name; --list shows them`);
  if (options.list) return console.log(points.map((point) => point.name).join("\n"));

  const machine = describeMachine();
  const settings = { ...(options.quick ? QUICK : THOROUGH), stepsPerMs: calibrateBurn() };
  console.log(machineLines(machine).join("\n"));
  console.log(
    `medians of up to ${settings.rounds} rounds, contenders in turn within each; 2 workers or threads each\n`,
  );

  const results = [];
  for (const point of points) {
    try {
      const measure = async () => judge(point, await runPoint(point, settings, showProgress(point)));
      let rows = await measure();
      // Measured again: other load on the machine can be unfair to one contender.
      if (options.floors && brokenFloors(rows).length > 0) rows = await measure();
      results.push({ name: point.name, unit: point.unit, better: point.better, rows });
      clearProgress();
      console.log(pointLines(point, rows).join("\n"));
      for (const { contender, best, floor } of options.floors ? brokenFloors(rows) : []) {
        process.exitCode = 1;
        console.log(`${point.name}: ${best.toFixed(2)}x of ${contender} at best, and never below ${floor}x before\n`);
      }
    } catch (error) {
      clearProgress();
      process.exitCode = 1;
      console.log(`${point.name}: FAILED\n  ${error.message.replaceAll("\n", "\n  ")}\n`);
    }
  }
  console.log(summaryLine(results));
  if (options.json !== undefined) {
    await writeFile(options.json, `${JSON.stringify({ machine, settings, results }, null, 2)}\n`);
  }
}

const showProgress = (point) => (text) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${point.name}: ${text}`);
};

function clearProgress() {
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
