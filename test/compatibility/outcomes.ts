import { expect } from "vitest";
import { type ProgramOptions, startProgram } from "../support/run-program.ts";

/** What became of a case: what it gives on a worker is what it gives here, or the call was refused. */
interface Outcome {
  readonly name: string;
  readonly outcome: "right" | "refused" | "wrong";
  /** What the refusal says, or what is wrong. */
  readonly detail: string;
}

/** The cases that are refused, each with a part of what the refusal must say; all others must be right. */
export type Refusals = Readonly<Record<string, string | RegExp>>;

const TIME_LIMIT_MS = 90_000;

/** Runs a program that calls `check` and expects each of its cases to be right, or refused as listed. */
export async function expectOutcomes(path: string, refusals: Refusals, options: ProgramOptions = {}): Promise<void> {
  const { child, ended } = startProgram(path, options);
  const limit = setTimeout(() => child.kill("SIGKILL"), TIME_LIMIT_MS);
  const { code, signal, stdout, stderr } = await ended;
  clearTimeout(limit);
  const outcomes = stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Outcome);
  const actual = outcomes.map(({ name, outcome, detail }) => {
    const refusal = refusals[name];
    const isExpected = outcome === "refused" && refusal !== undefined && new RegExp(refusal).test(detail);
    return isExpected ? `${name}: refused as listed` : `${name}: ${outcome} ${detail}`.trim();
  });
  const wanted = outcomes.map(({ name }) => `${name}: ${name in refusals ? "refused as listed" : "right"}`);
  expect(actual).toEqual(wanted);
  expect(outcomes.length, stderr).toBeGreaterThan(0);
  expect({ code, signal }, stderr).toEqual({ code: 0, signal: null });
}
