import type { FreeName } from "../engine/index.ts";
import { INSERTED } from "../shipment/index.ts";
import type { Binding, Scope } from "../syntax/index.ts";

const PARAMETER = /^\$w\$*[skimrfpq]$/;
const REWRITTEN_META = /^__(?:vi|vite_ssr)_import_meta__$/;
const REWRITTEN_IMPORT = /^__(?:vi|vite_ssr)_dynamic_import__$/;

/** True for the scope around the user's text in code that was revived here. */
function isFactoryScope({ node }: Scope): boolean {
  if (node.type !== "FunctionExpression" || node.params.length !== 8) return false;
  return node.params.every((parameter) => parameter.type === "Identifier" && PARAMETER.test(parameter.name));
}

/** True for a variable that stands for a captured one in code that was revived here: it is set once. */
export function isRevivedSlot({ scope, kind }: Binding): boolean {
  return (kind === "let" || kind === "var") && isFactoryScope(scope);
}

/**
 * The letter for a name that the receiver provides: `import()` or `import.meta`, under the names of test runners or of
 * code that was revived here. Undefined for every other name.
 */
export function ambientLetter({ name, binding }: FreeName): string | undefined {
  if (binding?.kind !== "parameter") return undefined;
  if (REWRITTEN_META.test(name)) return INSERTED.meta;
  if (REWRITTEN_IMPORT.test(name)) return INSERTED.importer;
  return isFactoryScope(binding.scope) ? name.slice(-1) : undefined;
}
