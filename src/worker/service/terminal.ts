import { readFileSync } from "node:fs";

/**
 * Whether this process is in the foreground of a terminal: Ctrl-C then reaches every process of its group, its parent
 * included. False on systems other than Linux.
 */
export function isInForeground(stat: string = readStat()): boolean {
  // The second field is the name of the command in parentheses, which may contain any character.
  const [, , group, , terminal, foreground] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return group !== undefined && terminal !== "0" && group === foreground;
}

function readStat(): string {
  try {
    return readFileSync("/proc/self/stat", "utf8");
  } catch {
    return "";
  }
}
