#!/usr/bin/env node
import { colour, EXIT, type Terminal, wantsColour } from "./command.ts";
import { runCli } from "./run-cli.ts";

const args = process.argv.slice(2);
// The program that `wool explain` loads must not take these arguments for its own.
process.argv.splice(2);

const terminal = takeTerminal();
let state: "running" | "done" = "running";
process.once("exit", () => {
  if (state === "done") return;
  terminal.complain("wool: the file ended the process, or waits for something that never comes, at its top level.");
  process.exitCode = EXIT.usage;
});

const status = await runCli(args, terminal).finally(() => {
  state = "done";
});
await terminal.flushed();
// Handles that the loaded program opened at its top level must not keep this process running.
process.exit(status);

/** The terminal, or the pipe, that this process was started with. */
export interface ProcessTerminal extends Terminal {
  /** Resolves when everything that was printed is written. */
  flushed(): Promise<void>;
}

/**
 * Reserves standard output for the command. All other output of this process, such as that of the explained program,
 * goes to standard error from now on, so that it does not mix with data.
 */
export function takeTerminal(): ProcessTerminal {
  const { stdout, stderr, env } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // The reader of the output may have closed it.
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
  });
  const isColoured = wantsColour(stdout.isTTY === true, env);
  return {
    columns: stdout.isTTY === true ? stdout.columns : Number.POSITIVE_INFINITY,
    print: (text) => void write(`${text}\n`),
    complain: (text) => void stderr.write(`${text}\n`),
    tone: (tone, text) => (isColoured ? colour(tone, text) : text),
    flushed: () => new Promise((resolve) => write("", () => resolve())),
  };
}
