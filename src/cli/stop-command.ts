import type { WorkerMetadata } from "../discovery/index.ts";
import { credentialsOf, DISCOVERY_HELP, DISCOVERY_OPTIONS, discoveryOf, readArguments } from "./arguments.ts";
import { type Command, EXIT, UsageError } from "./command.ts";
import { findWorkers, reasonOf, selectWorkers, withWorker } from "./found-workers.ts";

const USAGE = "Usage: wool stop UID... | --tag TAG | --all [--timeout MS] [--discovery URL] [--json]";

const HELP = `${USAGE}

Stops workers: they take no new tasks, finish those that run, and end.

  UID              a worker, by its uid, the beginning of it, or its name
  --tag TAG        all workers with one of these tags
  --all            all workers that the discovery knows
  --timeout MS     cancel the tasks that still run after this time; 0 cancels
                   them at once. Without it they have no time limit.
${DISCOVERY_HELP}
  --json           print the result for each worker as JSON

The exit status is 0 if all of them were stopped, 1 if not or if there are none,
and 2 if the arguments are wrong.`;

const OPTIONS = {
  ...DISCOVERY_OPTIONS,
  tag: { type: "string", multiple: true },
  all: { type: "boolean" },
  timeout: { type: "string" },
  json: { type: "boolean" },
} as const;

/** `wool stop`: ends workers, after their tasks. */
export const stopCommand: Command = {
  help: HELP,
  async run(args, terminal) {
    const given = readArguments(args, OPTIONS, USAGE);
    const [names, tags] = [given.positionals, given.list("tag")];
    const ways = [names.length > 0 ? "UID" : "", tags.length > 0 ? "--tag" : "", given.has("all") ? "--all" : ""];
    const chosen = ways.filter((way) => way !== "");
    if (chosen.length === 0) throw new UsageError(`which workers? ${USAGE}`);
    if (chosen.length > 1) throw new UsageError(`${chosen.join(" and ")} contradict each other: choose one. ${USAGE}`);
    const timeout = given.duration("timeout") ?? -1;
    const [url, credentials] = [discoveryOf(given), credentialsOf(given)];
    const { workers, problem } = await findWorkers(url, credentials);
    if (problem !== undefined) {
      if (given.has("json")) terminal.print("[]");
      terminal.complain(`${terminal.tone("bad", "wool:")} ${problem}`);
      return EXIT.negative;
    }
    const wanted =
      names.length > 0
        ? selectWorkers(workers, names)
        : workers.filter((worker) => given.has("all") || tags.some((tag) => worker.tags.has(tag)));
    const stopped = await Promise.all(
      wanted.map(async (worker): Promise<{ worker: WorkerMetadata; error: string | undefined }> => {
        try {
          await withWorker(worker, credentials, (connection) => connection.stop({ timeout }), Number.POSITIVE_INFINITY);
          return { worker, error: undefined };
        } catch (error) {
          return { worker, error: reasonOf(error) };
        }
      }),
    );
    if (given.has("json")) {
      const data = stopped.map(({ worker, error }) => ({
        uid: worker.uid,
        stopped: error === undefined,
        error: error ?? null,
      }));
      terminal.print(JSON.stringify(data, undefined, 2));
    } else {
      for (const { worker, error } of stopped) {
        terminal.print(
          error === undefined ? `${worker.uid} has stopped` : terminal.tone("bad", `${worker.uid}: ${error}`),
        );
      }
    }
    if (stopped.length === 0) terminal.complain(`${terminal.tone("bad", "wool:")} ${url} knows no such workers`);
    return stopped.length > 0 && stopped.every(({ error }) => error === undefined) ? EXIT.ok : EXIT.negative;
  },
};
