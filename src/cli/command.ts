import { styleText } from "node:util";

/** How a command ended, as the exit status of the process. */
export const EXIT = { ok: 0, negative: 1, usage: 2 } as const;

/** One command of the command line. */
export interface Command {
  /** What `wool help NAME` shows. */
  readonly help: string;
  /** Runs it and returns the exit status. Throws `UsageError` for wrong arguments. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** A command that is loaded on demand. */
export interface CommandEntry {
  /** What it does, in a few words. */
  readonly summary: string;
  load(): Promise<Command>;
}

/** The command line asks for something impossible. The message says what, and what to write instead. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The meaning of a piece of text; a terminal with colours shows it. */
export type Tone = "title" | "good" | "bad" | "faint" | "fix";

/** Where a command writes. */
export interface Terminal {
  /** Characters in a line; infinite if lines need no limit, such as in a pipe. */
  readonly columns: number;
  /** Writes the output of the command. */
  print(text: string): void;
  /** Writes an error. */
  complain(text: string): void;
  /** The text as this terminal shows it. */
  tone(tone: Tone, text: string): string;
}

const STYLES = { title: "bold", good: "green", bad: "red", faint: "gray", fix: "cyan" } as const;

/** Whether to write colours: to a terminal, unless `NO_COLOR` is set; anywhere, if `FORCE_COLOR` is. */
export function wantsColour(isTerminal: boolean, env: NodeJS.ProcessEnv): boolean {
  const force = env["FORCE_COLOR"];
  if (force !== undefined) return force !== "0" && force !== "false";
  if ((env["NO_COLOR"] ?? "") !== "") return false;
  return isTerminal && env["TERM"] !== "dumb";
}

/** The text with the codes that colour it. */
export function colour(tone: Tone, text: string): string {
  return styleText(STYLES[tone], text, { validateStream: false });
}
