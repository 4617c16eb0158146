// What it costs the calling process to capture and to pass values of packages. Prints the table of docs/benchmarks.md.
// The packages are those of the compatibility suite, see USAGE.
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const USAGE = `usage: node benchmarks/functions/package-costs.mjs [--against DIST] [--rounds N] [--node FILE] [FILTER]

  WOOL_COMPATIBILITY_FOLDER  a folder in which \`npm run test:compatibility\` has installed the packages
  --against DIST             the dist folder of another version, measured in turns with this one
  --rounds N                 fresh processes for each value and version, default 3; the medians are shown
  --node FILE                the Node.js to measure with
  FILTER                     only values whose names contain this`;

/** The imports of a program, and the value that it captures and passes. */
const VALUES = {
  "zod 3, an object of 40 fields": [
    `import { z } from "zod3";`,
    `z.object(Object.fromEntries(Array.from({ length: 40 }, (_, i) =>
      ["field" + i, [z.string(), z.number().int(), z.boolean(), z.date()][i % 4]])))`,
  ],
  "zod 3, an order of five objects": [
    `import { z } from "zod3";`,
    `(() => {
      const address = z.object({ street: z.string().min(1), city: z.string(), zip: z.string().regex(/^\\d{5}$/) });
      const customer = z.object({ name: z.string(), email: z.string().email(), address });
      const item = z.object({ sku: z.string(), count: z.number().int().positive(), price: z.number() });
      const payment = z.object({ kind: z.enum(["card", "cash"]), paid: z.boolean().optional() });
      return z.object({ customer, items: z.array(item).min(1), payment, shipTo: address.optional() });
    })()`,
  ],
  "lodash, curry": [`import _ from "lodash";`, "_.curry((a, b, c) => a + b + c)"],
  "lodash, chain (refused)": [`import _ from "lodash";`, "_([3, 1, 2]).sortBy()"],
  "a Jimp image": [`import { Jimp } from "jimp";`, "new Jimp({ width: 4, height: 4, color: 0xff0000ff })"],
  "handlebars, a template": [`import Handlebars from "handlebars";`, `Handlebars.compile("hello {{name}}")`],
  "immutable, a map": [
    `import { List, Map as ImmutableMap } from "immutable";`,
    "ImmutableMap({ a: 1, list: List([1, 2]) })",
  ],
  "mathjs, compile with a function (refused)": [
    `import { create, all } from "mathjs";\nconst math = create(all);\nmath.import({ twice: (x) => 2 * x });`,
    `math.parse("twice(x)").compile()`,
  ],
  "mathjs, create (refused)": [`import { create, all } from "mathjs";`, `create(all, { number: "BigNumber" })`],
  "mathjs, parser": [`import { parser } from "mathjs";`, "parser()"],
  "arktype, a type (refused)": [
    `import { type } from "arktype";`,
    `type({ id: "number.integer", "name?": "string > 1" })`,
  ],
  "joi, a schema": [`import Joi from "joi";`, "Joi.object({ id: Joi.number().integer(), name: Joi.string().min(2) })"],
  "ajv, a validator": [
    `import { Ajv } from "ajv";`,
    `new Ajv().compile({ type: "object", properties: { id: { type: "integer" } }, required: ["id"] })`,
  ],
};

const CALLS = 30;
const WAYS = ["captured", "argument"];

/** A program that calls a routine with the value and prints the processor time, in ms, that each call blocks it for. */
const program = (dist, [imports, value], way) => `
import { routine, WorkerPool } from ${JSON.stringify(pathToFileURL(join(dist, "index.js")).href)};
${imports}
const value = ${value};
const call = ${way === "captured" ? "routine(() => typeof value)" : "routine((it) => typeof it)"};
const pool = await WorkerPool.start({ size: 1 });
const times = [];
let refusal;
for (let i = 0; i < ${CALLS}; i++) {
  const before = process.cpuUsage();
  let result;
  try {
    result = call(${way === "captured" ? "" : "value"});
  } catch (error) {
    result = Promise.reject(error);
  }
  const { user, system } = process.cpuUsage(before);
  times.push((user + system) / 1000);
  await result.catch((error) => (refusal = error.message));
}
await pool.stop();
console.log(JSON.stringify({ times, refusal }));
`;

function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
}

function measure(file, node) {
  const { stdout, stderr, status } = spawnSync(node, [file], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr.trim().split("\n").slice(-3).join("\n"));
  const { times, refusal } = JSON.parse(stdout);
  return { first: times[0], second: times[1], later: median(times.slice(2)), refusal };
}

const rounded = (ms) => (ms < 10 ? ms.toFixed(1) : ms.toFixed(0));

function cell(runs, key) {
  return runs.map((measured) => rounded(median(measured.map((each) => each[key])))).join(" → ");
}

const { values: options, positionals } = parseArgs({
  options: {
    against: { type: "string" },
    rounds: { type: "string", default: "3" },
    node: { type: "string", default: process.execPath },
  },
  allowPositionals: true,
});
const folder = process.env.WOOL_COMPATIBILITY_FOLDER;
if (folder === undefined) {
  console.error(USAGE);
  process.exit(2);
}
const own = join(import.meta.dirname, "../../dist");
const versions = options.against === undefined ? [own] : [options.against, own];
const programs = join(folder, "costs");
mkdirSync(programs, { recursive: true });
console.log("| value | way | first call | second call | later |");
console.log("| ----- | --- | ---------- | ----------- | ----- |");
for (const [name, value] of Object.entries(VALUES)) {
  if (!name.includes(positionals[0] ?? "")) continue;
  for (const way of WAYS) {
    const runs = versions.map(() => []);
    try {
      for (let round = 0; round < Number(options.rounds); round++) {
        for (const [index, dist] of versions.entries()) {
          const file = join(programs, "program.mjs");
          writeFileSync(file, program(dist, value, way));
          runs[index].push(measure(file, options.node));
        }
      }
      const isRefused = runs.at(-1)[0].refusal !== undefined;
      const cells = ["first", "second", "later"].map((key) => cell(runs, key));
      console.log(`| ${name} | ${way}${isRefused ? ", refused" : ""} | ${cells.join(" | ")} |`);
    } catch (error) {
      console.log(`| ${name} | ${way} | ${error.message.replaceAll("\n", " ")} |`);
    }
  }
}
rmSync(programs, { recursive: true, force: true });
