import type { WorkerCredentialsProvider } from "../security/index.ts";
import {
  credentialsOf,
  DISCOVERY_HELP,
  DISCOVERY_OPTIONS,
  discoveryOf,
  readArguments,
  refusePositionals,
} from "./arguments.ts";
import type { Terminal } from "./command.ts";
import { type Command, EXIT, UsageError } from "./command.ts";
import {
  checkCertificates,
  checkFileLimit,
  checkMulticast,
  checkRuntimeDirectory,
  checkVersions,
  checkWorkers,
  type Finding,
} from "./doctor-checks.ts";
import { checkPeers, checkWayBack } from "./doctor-peers.ts";
import { findWorkers, reasonOf } from "./found-workers.ts";

const USAGE = "Usage: wool doctor [--discovery URL] [--json]";

const HELP = `${USAGE}

Finds out what works on this machine and network: versions, the runtime directory
and the length of socket paths, the limit of open files, multicast on each
interface, the dates of certificates, the discovery, and whether each worker that
it knows can be reached from here, this machine from there, and the workers from
each other. If something does not work, it says how to fix it.

${DISCOVERY_HELP}
  --json           print the findings as JSON

The exit status is 0 if everything works, 1 if something does not, and 2 if the
arguments are wrong.`;

const OPTIONS = { ...DISCOVERY_OPTIONS, json: { type: "boolean" } } as const;

/** `wool doctor`: what works here, and what does not. */
export const doctorCommand: Command = {
  help: HELP,
  async run(args, terminal) {
    const given = readArguments(args, OPTIONS, USAGE);
    refusePositionals(given, "doctor", USAGE);
    const [url, credentials] = [discoveryOf(given), credentialsOf(given)];
    // Both wait for packets most of the time.
    const [multicast, reachable] = await Promise.all([checkMulticast(), checkDiscovery(url, credentials)]);
    const findings: Finding[] = [
      ...checkVersions(),
      ...checkRuntimeDirectory(),
      ...checkFileLimit(),
      ...checkCertificates({ ca: given.text("ca"), cert: given.text("cert") }),
      ...multicast,
      ...reachable,
    ];
    if (given.has("json")) terminal.print(JSON.stringify(findings, undefined, 2));
    else for (const finding of findings) printFinding(finding, terminal);
    return findings.some(({ verdict }) => verdict === "bad") ? EXIT.negative : EXIT.ok;
  },
};

/** Does the discovery answer? Can the workers that it knows be reached, and can they reach the addresses they need? */
async function checkDiscovery(url: string, credentials: WorkerCredentialsProvider | undefined): Promise<Finding[]> {
  try {
    const { workers, problem } = await findWorkers(url, credentials);
    const findings = await Promise.all([
      checkWorkers(workers, credentials),
      checkWayBack(workers, credentials),
      checkPeers(workers, credentials),
    ]);
    return [discoveryFinding(url, workers.length, problem), ...findings.flat()];
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const fix = "check that the URL is right and that its server runs and can be reached";
    return [{ subject: url, verdict: "bad", answer: reasonOf(error), fix }];
  }
}

function discoveryFinding(url: string, count: number, problem: string | undefined): Finding {
  if (problem !== undefined) {
    return { subject: url, verdict: "bad", answer: problem, fix: "start the server, or correct the URL" };
  }
  if (count > 0)
    return { subject: url, verdict: "good", answer: `knows ${count} ${count === 1 ? "worker" : "workers"}`, fix: "" };
  return {
    subject: url,
    verdict: "note",
    answer: "knows no workers",
    fix: `start one: wool worker --discovery ${url}${/^(?:local|pool):/.test(url) ? "" : " --host 0.0.0.0"}`,
  };
}

function printFinding({ subject, verdict, answer, fix }: Finding, terminal: Terminal): void {
  const mark = { good: "ok  ", bad: "BAD ", note: "note" }[verdict];
  const tone = verdict === "note" ? "fix" : verdict;
  terminal.print(`${terminal.tone(tone, mark)}  ${subject}: ${answer}`);
  if (fix !== "") terminal.print(`      ${terminal.tone("fix", `-> ${fix}`)}`);
}
