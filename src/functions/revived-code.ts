import type { Binding, Scope } from "./scope.ts";

const PARAMETER = /^\$w\$*[skimrfp]$/;

/** True for the scope that compiled code that came from another process puts around the user's text. */
function isFactoryScope({ node }: Scope): boolean {
  if (node.type !== "FunctionExpression" || node.params.length !== 7) return false;
  return node.params.every((parameter) => parameter.type === "Identifier" && PARAMETER.test(parameter.name));
}

/** True for a variable that stands for a captured one in code that was revived here: it is set once. */
export function isRevivedSlot({ scope, kind }: Binding): boolean {
  return kind === "let" && isFactoryScope(scope);
}

/** True for what the receiver of a piece of code provides: `import()`, `import.meta`. */
export function isFactoryParameter({ scope, kind }: Binding): boolean {
  return kind === "parameter" && isFactoryScope(scope);
}
