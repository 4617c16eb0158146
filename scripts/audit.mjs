/** Asks the registry for known faults of dependencies. A registry that cannot be asked is told of, and is no fault. */
import { spawnSync } from "node:child_process";

const { stdout, error } = spawnSync("npm", ["audit", "--json"], { encoding: "utf8" });
const report = read(stdout);
if (report.metadata === undefined) {
  const reason = error?.message ?? report.message ?? report.error?.summary ?? "it gave no answer that can be read";
  console.warn(`The registry could not be asked, so known faults were not looked for: ${reason}`);
} else {
  const { total } = report.metadata.vulnerabilities;
  console.log(`${total} known faults in ${report.metadata.dependencies.total} packages`);
  process.exitCode = total === 0 ? 0 : 1;
}

/** npm writes what a registry or a proxy says, which need not be JSON. */
function read(text) {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
