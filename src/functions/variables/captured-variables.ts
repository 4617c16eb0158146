import { ambientLetter, isOwnName } from "../emit/index.ts";
import { type CodeSite, type FreeName, isStandardGlobal, type ScopeView } from "../engine/index.ts";
import { noteImport } from "../modules/index.ts";
import { ShippingError } from "../shipment/index.ts";
import { scopesFrom } from "./activation-index.ts";

/** A captured variable as it is now. */
export interface CapturedVariable {
  readonly name: string;
  readonly free: FreeName;
  readonly value: unknown;
  /** The scope it was found in; undefined for a property of globalThis. */
  readonly scope: ScopeView | undefined;
  /** That scope and those around it, innermost first. */
  readonly scopes: readonly ScopeView[];
}

/** The variables that Node.js declares around a CommonJS module. */
const MODULE_PARAMETERS: ReadonlySet<string> = new Set([
  "exports",
  "require",
  "module",
  "__filename",
  "__dirname",
  "arguments",
]);

/** The variables that a function captured, in the order in which it first uses them. Throws `ShippingError`. */
export function captureVariables(fn: object, site: CodeSite, scopes: readonly ScopeView[]): CapturedVariable[] {
  const captured: CapturedVariable[] = [];
  for (const free of site.free.values()) {
    if (ambientLetter(free) !== undefined) continue;
    const variable = captureVariable(site, scopes, free);
    if (variable !== undefined && !(variable.value === fn && isFixedOwnName(site, free))) captured.push(variable);
  }
  return captured;
}

function captureVariable(site: CodeSite, scopes: readonly ScopeView[], free: FreeName): CapturedVariable | undefined {
  const { name, binding } = free;
  const scope = scopes.find(
    ({ description, variables }) => !description.startsWith("Global") && Object.hasOwn(variables, name),
  );
  if (scope === undefined) return captureOutside(site, scopes, free);
  if (binding === undefined && scope.description !== "Script" && !MODULE_PARAMETERS.has(name)) {
    throw new ShippingError(
      `uses the variable "${name}" of code that is not in its source, as code made by direct eval does`,
      [name],
      `pass "${name}" to it, or make the function without eval`,
    );
  }
  const value = readInitialized(scope, name);
  const { imported } = binding ?? {};
  if (imported !== undefined) noteImport(value, imported.source, imported.imported, site.file.script.url);
  return { name, free, value, scope, scopes: scopesFrom(scopes, name) };
}

/** A name that no scope of the function holds: a global variable, or the function's own name. */
function captureOutside(site: CodeSite, scopes: readonly ScopeView[], free: FreeName): CapturedVariable | undefined {
  const { binding, name } = free;
  const isTopOfScript = binding?.scope.kind === "top" && !site.file.script.isModule;
  if (binding === undefined ? !isStandardGlobal(name) : isTopOfScript) {
    if (Object.hasOwn(globalThis, name))
      return { name, free, value: Reflect.get(globalThis, name), scope: undefined, scopes };
  }
  if (binding === undefined || isOwnName(site, free)) return undefined;
  throw new ShippingError(
    `the engine does not keep the variable "${name}" for this function`,
    [name],
    `use "${name}" in the function itself, not only in code that eval sees`,
  );
}

function isFixedOwnName(site: CodeSite, free: FreeName): boolean {
  return isOwnName(site, free) && free.binding?.writes.length === 0;
}

function readInitialized(scope: ScopeView, name: string): unknown {
  try {
    return scope.variables[name];
  } catch {
    throw new ShippingError(
      `the variable "${name}" is not initialised yet`,
      [name],
      `call the routine after the line that declares "${name}" has run`,
    );
  }
}
