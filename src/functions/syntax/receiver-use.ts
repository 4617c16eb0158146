import { parseSource } from "./parse-source.ts";
import { analyzeScopes } from "./scope-analysis.ts";

/**
 * True for the text of a function that uses its own `this` or `super`, which depend on how it is called. An arrow
 * function has no own `this`, and a text that cannot be parsed by itself is not a user's function.
 */
export function usesOwnReceiver(text: string): boolean {
  if (!/\b(?:this|super)\b/.test(text)) return false;
  // A method has another syntax than a function, and sloppy code may use syntax that a module may not.
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
      // It has one of the other forms.
    }
  }
  return false;
}
