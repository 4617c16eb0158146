import type { CommandEntry } from "./command.ts";

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
