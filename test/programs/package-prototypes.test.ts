import { expect, test } from "vitest";
import { SmallProject } from "../support/small-project.ts";

/** A package whose instances inherit from a plain object that it exports, as numeral does. */
const AMOUNT = `
  function Amount(value) { this.value = value; }
  function amount(value) { return new Amount(value); }
  amount.isAmount = (it) => it instanceof Amount;
  amount.fn = Amount.prototype = { plus(more) { return amount(this.value + more); } };
  module.exports = amount;`;

const PROGRAM = (extension: string): string => `
  import { routine, WorkerPool } from "wool-ts";
  import amount from "amount";
  ${extension}
  const five = amount(5);
  const look = (it) => [amount.isAmount(it), it.plus(1).value, it.half?.() ?? null];
  const pool = await WorkerPool.start({ size: 1 });
  console.log(JSON.stringify([
    await routine(async (it) => look(it))(five),
    await routine(async () => look(five))(),
    look(await routine(async () => amount(5))()),
    look(await routine(async (it) => it)(five)),
  ]));
  await pool.stop();`;

test.each([
  ["as it is", "", [true, 6, null]],
  // Workers do not have what the program has added, so the code of the package travels.
  [
    "extended by the program",
    "amount.fn.half = function () { return this.value / 2; };",
    [expect.any(Boolean), 6, 2.5],
  ],
])("an instance inherits from the object that its package exports: %s", async (_, extension, expected) => {
  const project = new SmallProject({
    "node_modules/amount/package.json": JSON.stringify({ name: "amount", main: "index.js" }),
    "node_modules/amount/index.js": AMOUNT,
    "main.mjs": PROGRAM(extension),
  });
  try {
    const { stdout, stderr } = await project.run("main.mjs");
    expect(JSON.parse(stdout), stderr).toEqual([expected, expected, expected, expected]);
  } finally {
    project.remove();
  }
});
