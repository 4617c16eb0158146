import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { nearestName } from "../checks/index.ts";
import { configureEntry, configureRoot } from "../functions/index.ts";
// All of it, since the sizes and refusals of values come from parts that register themselves.
import "../index.ts";
import { type Explanation, shipping } from "../index.ts";
import { readArguments } from "./arguments.ts";
import type { Terminal } from "./command.ts";
import { type Command, EXIT, UsageError } from "./command.ts";
import { exportNames, type FoundExport, findExport, listExports } from "./find-export.ts";
import { formatExplanation } from "./format-explanation.ts";
import { loadModule } from "./load-module.ts";

const USAGE = "Usage: wool explain FILE[#EXPORT] [--entry] [--json]";

const HELP = `${USAGE}

Shows what would travel to a worker with a function, a class or a routine: by
reference or by value, everything that it captured, how large that is and why it
travels; what is refused, and what to write instead. Nothing is sent anywhere.

  FILE      the module to explain. It is imported, so its top level runs. Its
            output goes to standard error.
  #EXPORT   what to explain: default, add, api.fetchPage, Shop.prototype.price.
            Without it, everything that the module exports.

  --entry   as if FILE were the entry file of the program: no worker imports
            that file, so all of its code travels
  --json    print the explanation as JSON, a list of them without #EXPORT

TypeScript is run by Node itself where it can, else by the tsx of the project.

The exit status is 0 if it can travel, 1 if not, and 2 if the arguments
are wrong or the file could not be imported.`;

const NOTE =
  "A worker without this file, or with another version of it, is sent the code instead:\n--entry shows what that is.";

const OPTIONS = { entry: { type: "boolean" }, json: { type: "boolean" } } as const;

/** `wool explain`: what would travel with the functions of a module. */
export const explainCommand: Command = {
  help: HELP,
  async run(args, terminal) {
    const { target, isEntry, isJson } = parse(args);
    const { path, file, wanted } = locate(target);
    configureRoot(rootOf(path));
    if (isEntry) configureEntry(path);
    const loaded = await loadModule(path, file);
    if (loaded.loader !== undefined) return runWith(loaded.loader, args);
    const found =
      wanted === undefined ? everyExport(loaded.namespace, file) : [findExport(loaded.namespace, wanted, file)];
    const explained = found.map((each) => ({ ...each, explanation: explain(each) }));
    if (isJson) {
      const data = explained.map(({ path, explanation }) => ({ export: path, ...explanation }));
      terminal.print(JSON.stringify(wanted === undefined ? data : data[0], undefined, 2));
    } else {
      for (const [index, { path, explanation }] of explained.entries()) {
        if (index > 0) terminal.print("");
        terminal.print(formatExplanation(path, explanation, terminal));
      }
      summarise(explained, terminal);
      if (!isEntry && explained.some(({ explanation }) => explanation.by === "reference")) terminal.print(`\n${NOTE}`);
    }
    return explained.some(({ explanation }) => explanation.by === "nothing") ? EXIT.negative : EXIT.ok;
  },
};

interface Request {
  readonly target: string;
  readonly isEntry: boolean;
  readonly isJson: boolean;
}

function parse(args: readonly string[]): Request {
  const given = readArguments(args, OPTIONS, USAGE);
  const [target, extra] = given.positionals;
  if (target === undefined) throw new UsageError(`which file? ${USAGE}`);
  if (extra !== undefined) throw new UsageError(`one file at a time, and ${extra} is a second one. ${USAGE}`);
  return { target, isEntry: given.has("entry"), isJson: given.has("json") };
}

interface Located {
  readonly path: string;
  /** The file as the user wrote it. */
  readonly file: string;
  readonly wanted: string | undefined;
}

function locate(target: string): Located {
  const at = target.lastIndexOf("#");
  const isWhole = at < 0 || isFile(target);
  const file = isWhole ? target : target.slice(0, at);
  const wanted = isWhole || at === target.length - 1 ? undefined : target.slice(at + 1);
  if (isFile(file)) return { path: realpathSync(resolve(file)), file, wanted };
  if (existsSync(file)) throw new UsageError(`${file} is a folder, not a file.`);
  const directory = dirname(resolve(file));
  const near = existsSync(directory) ? nearestName(basename(file), readdirSync(directory)) : undefined;
  const hint = near === undefined ? "" : ` Did you mean ${join(dirname(file), near)}?`;
  throw new UsageError(`there is no file ${file}.${hint}`);
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** The root that a program with this file would have. */
function rootOf(path: string): string {
  for (let directory = dirname(path); ; directory = dirname(directory)) {
    if (existsSync(join(directory, "package.json"))) return directory;
    if (dirname(directory) === directory) return dirname(path);
  }
}

/** The same command in a process whose modules are loaded by `loader`. */
function runWith(loader: string, args: readonly string[]): number {
  const [, cli = ""] = process.argv;
  const options = [...process.execArgv, "--import", loader, cli, "explain", ...args];
  const { status, error } = spawnSync(process.execPath, options, { stdio: "inherit" });
  if (error !== undefined) throw error;
  return status ?? EXIT.usage;
}

function everyExport(namespace: object, file: string): FoundExport[] {
  const found = listExports(namespace);
  if (found.length > 0) return found;
  const names = exportNames(namespace);
  const list = names.length === 0 ? "nothing" : names.join(", ");
  throw new UsageError(`${file} exports no function, class or routine. It exports: ${list}.`);
}

function explain({ path, subject, holder }: FoundExport): Explanation {
  return shipping.explain(subject, holder === undefined ? { name: path } : { name: path, holder });
}

function summarise(explained: readonly { readonly explanation: Explanation }[], terminal: Terminal): void {
  if (explained.length < 2) return;
  const refused = explained.filter(({ explanation }) => explanation.by === "nothing").length;
  const verdict = refused === 0 ? "all can travel" : `${refused} cannot travel`;
  terminal.print(`\n${explained.length} exports: ${terminal.tone(refused === 0 ? "good" : "bad", verdict)}`);
}
