import type { CommandEntry } from "./command.ts";

/** Every command by its name. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  certs: {
    summary: "make, show and renew certificates for TLS",
    load: async () => (await import("./certs-command.ts")).certsCommand,
  },
  explain: {
    summary: "show what travels with a function to a worker, and what cannot",
    load: async () => (await import("./explain-command.ts")).explainCommand,
  },
};
