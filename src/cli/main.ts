#!/usr/bin/env node
import { EXIT } from "./command.ts";
import { takeTerminal } from "./process-terminal.ts";
import { runCli } from "./run-cli.ts";

const args = process.argv.slice(2);
// A program that is loaded to be looked at must not take these for its own.
process.argv.splice(2);

const terminal = takeTerminal();
let state: "running" | "done" = "running";
process.once("exit", () => {
  if (state === "done") return;
  terminal.complain("wool: the file ended the process, or waits for something that never comes, at its top level.");
  process.exitCode = EXIT.usage;
});

const status = await runCli(args, terminal);
await terminal.flushed();
state = "done";
// What the program opened at its top level must not keep this one running.
process.exit(status);
