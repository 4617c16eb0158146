/** Asks the registry for known faults of dependencies. A registry that cannot be asked is told of, and is no fault. */
import { spawnSync } from "node:child_process";

const { stdout } = spawnSync("npm", ["audit", "--json"], { encoding: "utf8" });
const report = JSON.parse(stdout);
if (report.metadata === undefined) {
  console.warn(`The registry could not be asked: ${report.message ?? JSON.stringify(report.error)}`);
} else {
  const { total } = report.metadata.vulnerabilities;
  console.log(`${total} known faults in ${report.metadata.dependencies.total} packages`);
  process.exitCode = total === 0 ? 0 : 1;
}
