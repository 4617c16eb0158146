import type { Terminal } from "./terminal.ts";

/** How a command ended, as the exit status of the process. */
export const EXIT = { ok: 0, negative: 1, usage: 2 } as const;

/** One command of the command line. */
export interface Command {
  /** What `wool help NAME` shows. */
  readonly help: string;
  /** Runs it and gives the exit status. Throws `UsageError` for arguments that mean nothing. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** A command that is loaded when it is needed. */
export interface CommandEntry {
  /** What it does, in a few words. */
  readonly summary: string;
  load(): Promise<Command>;
}
