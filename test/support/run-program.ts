import { type ChildProcess, spawn } from "node:child_process";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

/** A started program, and its output so far. */
export interface Program {
  readonly child: ChildProcess;
  readonly stdout: string;
  readonly stderr: string;
  /** Resolves when the program has ended and its output is complete. */
  readonly ended: Promise<ProgramEnd>;
  /** How it has ended, if its output is complete: that may take longer than the end of the process. */
  readonly end: ProgramEnd | undefined;
}

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** How a program is started. */
export interface ProgramOptions {
  readonly args?: readonly string[];
  /** The Node.js that runs it; the one of this process by default. */
  readonly node?: string;
  /** Options for node itself. */
  readonly execArgv?: readonly string[];
  /** Added to the environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The folder it is started in. */
  readonly cwd?: string;
  /** Whether its stdin is a pipe that can be written to. */
  readonly input?: boolean;
  /** Whether it gets its own process group, as from a terminal. */
  readonly ownGroup?: boolean;
}

/** The path of a file in the fixtures folder. */
export function fixture(name: string): string {
  return fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
}

function program(name: string): string {
  return isAbsolute(name) ? name : fixture(name);
}

/** Runs a fixture, or the file at an absolute path, with node in a separate process. */
export function startProgram(name: string, options: ProgramOptions = {}): Program {
  const { args = [], node = process.execPath, execArgv = [], env = {}, cwd, input = false, ownGroup = false } = options;
  const child = spawn(node, [...execArgv, program(name), ...args], {
    stdio: [input ? "pipe" : "ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
    detached: ownGroup,
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stdout = "";
  let stderr = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
  });
  let end: ProgramEnd | undefined;
  const ended = new Promise<ProgramEnd>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code, signal) => {
      end = { code, signal, stdout, stderr };
      resolve(end);
    });
  });
  return {
    child,
    get stdout() {
      return stdout;
    },
    get stderr() {
      return stderr;
    },
    ended,
    get end() {
      return end;
    },
  };
}

/** Runs a fixture to its end. */
export async function runProgram(name: string, options: ProgramOptions = {}): Promise<ProgramEnd> {
  return await startProgram(name, options).ended;
}
