import { parseArgs } from "node:util";

export const USAGE = `usage: npm run bench -- [filter] [--quick] [--floors] [--json FILE] [--list]

  filter       only points whose name contains it, such as dispatch or add-100
  --quick      fewer and shorter rounds: a rough picture in about a minute
  --floors     only points with a floor: fails when a ratio is below it
  --json FILE  also write every figure to FILE
  --list       print the names of the points`;

/** Throws with a message for the user when the arguments are wrong. */
export function parseCommandLine(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      floors: { type: "boolean", default: false },
      json: { type: "string" },
      list: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (positionals.length > 1) throw new Error(`one filter, not ${positionals.length}: ${positionals.join(" ")}`);
  return { ...values, filter: positionals[0] ?? "" };
}
