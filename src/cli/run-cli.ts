import { nearestName } from "../checks/index.ts";
import { WoolError } from "../errors.ts";
import { type CommandEntry, EXIT, type Terminal, UsageError } from "./command.ts";
import { packageVersion } from "./package-version.ts";

/** Runs the command that the arguments name and returns the exit status: 0 is yes, 1 is no, 2 means wrong arguments. */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<number> {
  try {
    return await run(args, terminal);
  } catch (error) {
    if (!(error instanceof UsageError || error instanceof WoolError)) throw error;
    terminal.complain(`${terminal.tone("bad", "wool:")} ${error.message}`);
    return error instanceof UsageError ? EXIT.usage : EXIT.negative;
  }
}

async function run(args: readonly string[], terminal: Terminal): Promise<number> {
  const [first, ...rest] = args;
  if (first === undefined || first === "--help" || first === "-h") return help([], terminal);
  if (first === "--version" || first === "-v") {
    terminal.print(packageVersion());
    return EXIT.ok;
  }
  if (first === "help") return help(rest, terminal);
  const entry = commandNamed(first);
  if (rest.includes("--help") || rest.includes("-h")) return help([first], terminal);
  const command = await entry.load();
  return command.run(rest, terminal);
}

async function help([name]: readonly string[], terminal: Terminal): Promise<number> {
  terminal.print(name === undefined ? overview() : (await commandNamed(name).load()).help);
  return EXIT.ok;
}

function overview(): string {
  const entries: [string, string][] = [
    ...Object.entries(commands).map(([name, { summary }]): [string, string] => [name, summary]),
    ["help [COMMAND]", "show this, or how to use a command"],
  ];
  const width = Math.max(...entries.map(([name]) => name.length));
  const lines = entries.map(([name, summary]) => `  ${name.padEnd(width)}  ${summary}`);
  return `Usage: wool COMMAND [OPTIONS]\n\n${lines.join("\n")}\n\n  --version  show the version of wool-ts`;
}

function commandNamed(name: string): CommandEntry {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry !== undefined) return entry;
  const kind = name.startsWith("-") ? "option" : "command";
  const near = nearestName(name, [...Object.keys(commands), "help", "--help", "--version"]);
  const hint = near === undefined ? "" : ` Did you mean ${near}?`;
  throw new UsageError(`there is no ${kind} ${name}.${hint} Run \`wool help\` to see what there is.`);
}

/** Every command by its name. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  certs: {
    summary: "make, show and renew certificates for TLS",
    load: async () => (await import("./certs-command.ts")).certsCommand,
  },
  doctor: {
    summary: "find out what works on this machine and network, and what does not",
    load: async () => (await import("./doctor-command.ts")).doctorCommand,
  },
  explain: {
    summary: "show what travels with a function to a worker, and what cannot",
    load: async () => (await import("./explain-command.ts")).explainCommand,
  },
  ps: {
    summary: "list the workers that a discovery knows",
    load: async () => (await import("./ps-command.ts")).psCommand,
  },
  stop: {
    summary: "stop workers after their tasks",
    load: async () => (await import("./stop-command.ts")).stopCommand,
  },
  worker: {
    summary: "run workers until they are stopped",
    load: async () => (await import("./worker-command.ts")).workerCommand,
  },
};
