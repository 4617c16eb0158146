import { expect } from "vitest";
import { type ProgramEnd, type ProgramOptions, startProgram } from "./run-program.ts";
import { makeRuntimeFolder } from "./runtime-folder.ts";

/** Runs a program to its end. It has not ended while any of its processes is left. */
export async function runToEnd(file: string, options: ProgramOptions = {}): Promise<ProgramEnd> {
  using folder = makeRuntimeFolder();
  const program = startProgram(file, { ...options, env: { ...options.env, ...folder.env } });
  const end = await program.ended;
  expect(folder.leftovers([program.child.pid ?? 0])).toEqual([]);
  return end;
}

/** The output of a program as JSON, if it ended without an error. */
export async function outputOf(file: string, options: ProgramOptions = {}): Promise<unknown> {
  const { code, stdout, stderr } = await runToEnd(file, options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return JSON.parse(stdout);
}
