import type { CommandEntry } from "./command.ts";

/** Every command by its name. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  explain: {
    summary: "show what travels with a function to a worker, and what cannot",
    load: async () => (await import("./explain-command.ts")).explainCommand,
  },
};
