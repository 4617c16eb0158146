/**
 * Asks the registry for known faults of dependencies, and fails when there are some. A registry that cannot be asked is
 * only reported; with `--required` it is a fault.
 */
import { spawnSync } from "node:child_process";

const isRequired = process.argv.includes("--required");
const { stdout, error } = spawnSync("npm", ["audit", "--json"], { encoding: "utf8" });
const report = read(stdout);
const total = report.metadata?.vulnerabilities?.total;
if (typeof total === "number") {
  console.log(`${total} known faults in ${report.metadata.dependencies?.total ?? "all"} packages`);
  for (const [name, { severity = "of unknown severity" }] of Object.entries(report.vulnerabilities ?? {})) {
    console.log(`  ${name}: ${severity}`);
  }
  process.exitCode = total === 0 ? 0 : 1;
} else {
  const reason = error?.message ?? report.message ?? report.error?.summary ?? "its answer cannot be read";
  console.warn(`NOT AUDITED: the registry could not be asked for known faults: ${withoutAddresses(reason)}`);
  process.exitCode = isRequired ? 1 : 0;
}

/** npm prints the answer of a registry or a proxy, which may not be JSON. */
function read(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}

/** The output must not show where packages come from on this machine. */
function withoutAddresses(text) {
  return text.replaceAll(/\s*(?:- )?(?:[A-Z]+ )?https?:\/\/\S+/g, "");
}
