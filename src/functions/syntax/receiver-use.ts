import { parseSource } from "./parse-source.ts";
import { analyzeScopes } from "./scope-analysis.ts";

/**
 * True for the text of a function that uses its own `this` or `super`, which depend on how it is called. An arrow
 * function has none of its own, and what cannot be parsed by itself is no function that a user wrote as one.
 */
export function usesOwnReceiver(text: string): boolean {
  if (!/\b(?:this|super)\b/.test(text)) return false;
  // A method is not written as a function is, and sloppy code may say what a module may not.
  for (const [source, isModule] of [
    [`(${text}\n)`, true],
    [`({${text}\n})`, true],
    [`(${text}\n)`, false],
    [`({${text}\n})`, false],
  ] as const) {
    try {
      const { units, contextual } = analyzeScopes(parseSource(source, isModule));
      const [unit] = units;
      return contextual.some(
        ({ type, scope }) => (type === "this" || type === "super") && scope.receiverScope().node === unit?.node,
      );
    } catch {
      // It is written in one of the other ways.
    }
  }
  return false;
}
