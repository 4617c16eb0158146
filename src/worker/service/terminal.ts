import { readFileSync } from "node:fs";

/**
 * Whether this process is in the foreground of a terminal: Ctrl-C then reaches every process of its group, its parent
 * included. False on systems that do not tell.
 */
export function isInForeground(stat: string = readStat()): boolean {
  // The second field is the name of the command in parentheses, which may have any character in it.
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
