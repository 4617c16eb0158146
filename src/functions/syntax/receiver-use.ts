import { parseFunctionText } from "./function-text.ts";
import { analyzeScopes } from "./scope-analysis.ts";

/**
 * True for the text of a function that uses its own `this` or `super`, which depend on how it is called. An arrow
 * function has no own `this`, and a text that cannot be parsed by itself is not a user's function.
 */
export function usesOwnReceiver(text: string): boolean {
  if (!/\b(?:this|super)\b/.test(text)) return false;
  const program = parseFunctionText(text);
  if (program === undefined) return false;
  const { units, contextual } = analyzeScopes(program);
  const [unit] = units;
  return contextual.some(
    ({ type, scope }) => (type === "this" || type === "super") && scope.receiverScope().node === unit?.node,
  );
}
