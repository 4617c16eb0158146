import { colour, type Terminal, wantsColour } from "./terminal.ts";

/** The terminal, or the pipe, that this process was started with. */
export interface ProcessTerminal extends Terminal {
  /** Resolves when everything that was printed is written. */
  flushed(): Promise<void>;
}

/**
 * Takes standard output for what the command prints. What anything else in this process prints, such as the program
 * that is looked at, goes to standard error from now on, so that it does not get into data.
 */
export function takeTerminal(): ProcessTerminal {
  const { stdout, stderr, env } = process;
  const write = stdout.write.bind(stdout);
  stdout.write = stderr.write.bind(stderr);
  // Whoever read the output may have seen enough.
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
