import { fileURLToPath } from "node:url";
import { type Program, type ProgramEnd, type ProgramOptions, runProgram, startProgram } from "./run-program.ts";
import { until } from "./until.ts";

/** The file of the command line. */
export const CLI = fileURLToPath(new URL("../../dist/cli.js", import.meta.url));

/** Runs a command of the command line to its end. */
export async function wool(...args: string[]): Promise<ProgramEnd> {
  return await runProgram(CLI, { args });
}

/** A line that `wool worker` logged. */
export interface LogLine {
  readonly event: string;
  readonly uid?: string;
  readonly address?: string;
  readonly pid?: number;
  readonly message?: string;
  readonly error?: string;
  readonly reason?: string;
}

/** A running `wool worker`. */
export interface RunningCommand extends AsyncDisposable {
  readonly program: Program;
  readonly lines: () => LogLine[];
  /** The workers that it has started. */
  readonly workers: () => LogLine[];
}

/** Starts `wool worker` and waits until its workers are ready. */
export async function startWorkers(args: readonly string[], options: ProgramOptions = {}): Promise<RunningCommand> {
  const program = startProgram(CLI, { ...options, args: ["worker", ...args] });
  const lines = () =>
    program.stdout
      .split("\n")
      .filter((line) => line.startsWith("{"))
      .map((line) => JSON.parse(line) as LogLine);
  const command: RunningCommand = {
    program,
    lines,
    workers: () => lines().filter(({ event }) => event === "worker"),
    [Symbol.asyncDispose]: async () => {
      if (program.child.exitCode === null) program.child.kill("SIGTERM");
      await program.ended;
    },
  };
  await until(() => {
    if (program.child.exitCode !== null) throw new Error(`it has ended: ${program.stdout}${program.stderr}`);
    return lines().some(({ event }) => event === "ready");
  }, "the workers are ready");
  return command;
}
