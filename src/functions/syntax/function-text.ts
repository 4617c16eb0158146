import type { Program } from "acorn";
import { parseSource } from "./parse-source.ts";

/** Parses the text of a function by itself; undefined for a text that is not that of a user's function. */
export function parseFunctionText(text: string): Program | undefined {
  // A method has another syntax than a function, and sloppy code may use syntax that a module may not.
  for (const [source, isModule] of [
    [`(${text}\n)`, true],
    [`({${text}\n})`, true],
    [`(${text}\n)`, false],
    [`({${text}\n})`, false],
  ] as const) {
    try {
      return parseSource(source, isModule);
    } catch {
      // It has one of the other forms.
    }
  }
  return undefined;
}
