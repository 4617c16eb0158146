import { type WorkerMetadata, workerToJson } from "../discovery/index.ts";
import {
  credentialsOf,
  DISCOVERY_HELP,
  DISCOVERY_OPTIONS,
  discoveryOf,
  readArguments,
  refusePositionals,
} from "./arguments.ts";
import type { Terminal } from "./command.ts";
import { type Command, EXIT } from "./command.ts";
import { findWorkers, reasonOf, withWorker } from "./found-workers.ts";

const USAGE = "Usage: wool ps [--discovery URL] [--tag TAG] [--wait MS] [--json]";

const HELP = `${USAGE}

Lists the workers that a discovery knows, and asks each of them whether it
answers and how long it has been idle.

${DISCOVERY_HELP}
  --tag TAG        only workers with one of these tags
  --wait MS        how long to listen for more workers after the last one
  --json           print the workers as JSON

The exit status is 0 if there are workers and all of them answer, 1 if there are
none, one does not answer or the discovery cannot be reached, and 2 if the
arguments are wrong.`;

const OPTIONS = {
  ...DISCOVERY_OPTIONS,
  tag: { type: "string", multiple: true },
  wait: { type: "string" },
  json: { type: "boolean" },
} as const;

/** A worker, and its answer. */
interface Listed {
  readonly worker: WorkerMetadata;
  /** Milliseconds that it has been idle, or why that is not known. */
  readonly idle: number | undefined;
  readonly error: string | undefined;
}

/** `wool ps`: the workers that a discovery knows. */
export const psCommand: Command = {
  help: HELP,
  async run(args, terminal) {
    const given = readArguments(args, OPTIONS, USAGE);
    refusePositionals(given, "ps", USAGE);
    const [url, credentials, tags] = [discoveryOf(given), credentialsOf(given), given.list("tag")];
    const { workers, problem } = await findWorkers(url, credentials, given.duration("wait"));
    const wanted = workers.filter((worker) => tags.length === 0 || tags.some((tag) => worker.tags.has(tag)));
    const listed = await Promise.all(
      wanted.map(async (worker): Promise<Listed> => {
        try {
          const idle = await withWorker(worker, credentials, (connection) => connection.idleTime());
          return { worker, idle, error: undefined };
        } catch (error) {
          return { worker, idle: undefined, error: reasonOf(error) };
        }
      }),
    );
    listed.sort((a, b) => (a.worker.uid < b.worker.uid ? -1 : 1));
    if (given.has("json")) terminal.print(JSON.stringify(listed.map(toJson), undefined, 2));
    else printTable(listed, terminal);
    if (problem !== undefined) terminal.complain(`${terminal.tone("bad", "wool:")} ${problem}`);
    else if (listed.length === 0) terminal.complain(`${terminal.tone("bad", "wool:")} ${url} knows no workers`);
    const isGood = problem === undefined && listed.length > 0 && listed.every(({ error }) => error === undefined);
    return isGood ? EXIT.ok : EXIT.negative;
  },
};

function toJson({ worker, idle, error }: Listed) {
  return { ...workerToJson(worker), responds: error === undefined, idle: idle ?? null, error: error ?? null };
}

function printTable(listed: readonly Listed[], terminal: Terminal): void {
  if (listed.length === 0) return;
  const header = ["UID", "NAME", "ADDRESS", "PID", "VERSION", "TAGS", "STATE"];
  const rows = listed.map(({ worker, idle, error }) => [
    worker.uid,
    worker.extra["name"] ?? "",
    worker.address + (worker.secure ? " (TLS)" : ""),
    worker.pid === 0 ? "" : String(worker.pid),
    worker.version,
    [...worker.tags].join(","),
    error ?? (idle === 0 ? "busy" : `idle for ${seconds(idle ?? 0)}`),
  ]);
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  terminal.print(terminal.tone("title", line(header)));
  for (const [index, row] of rows.entries()) {
    const text = line(row);
    terminal.print(listed[index]?.error === undefined ? text : terminal.tone("bad", text));
  }
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
