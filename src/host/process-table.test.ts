import { describe, expect, it } from "vitest";
import { parseProcStat, readFromPs, readProcessTable } from "./process-table.ts";

const FIELDS = "1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 15 16 17 18 987654 20 21";

describe("parseProcStat", () => {
  it.each(["node", "a b", "x) R 1 (y", ")", "(sd-pam)"])("finds the start time behind the name %j", (name) => {
    expect(parseProcStat(`42 (${name}) S ${FIELDS}\n`)).toEqual({ startTime: "987654", isEnding: false });
  });

  it("tells a zombie", () => {
    expect(parseProcStat(`42 (node) Z ${FIELDS}\n`)).toEqual({ startTime: "987654", isEnding: true });
  });

  it("tells a process that has begun to end, although it still runs", () => {
    const fields = FIELDS.replace("4194304", "4194308");
    expect(parseProcStat(`42 (node) R ${fields}\n`)).toEqual({ startTime: "987654", isEnding: true });
  });

  it.each(["", "42 (node", "42 (node) S 1 2", "42 (node) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 x"])(
    "makes nothing of %j",
    (stat) => {
      expect(parseProcStat(stat)).toBeUndefined();
    },
  );
});

const hasPs = readFromPs([process.pid]) !== undefined;

describe("readFromPs", () => {
  it.runIf(hasPs)("finds the running ones among the pids", () => {
    const table = readFromPs([process.pid, process.ppid, 2 ** 22 + 1]);
    expect(new Set(table?.keys())).toEqual(new Set([process.pid, process.ppid]));
    expect(table?.get(process.pid)?.isEnding).toBe(false);
    expect(readFromPs([process.pid])?.get(process.pid)).toEqual(table?.get(process.pid));
  });

  it.runIf(hasPs)("finds none where there is none", () => {
    expect(readFromPs([2 ** 22 + 1])).toEqual(new Map());
    expect(readFromPs([])).toEqual(new Map());
  });
});

describe("readProcessTable", () => {
  it("gives the same answer for the same process", () => {
    const first = readProcessTable([process.pid])?.get(process.pid);
    expect(first).toBeDefined();
    expect(readProcessTable([process.pid, process.ppid])?.get(process.pid)).toEqual(first);
  });
});
