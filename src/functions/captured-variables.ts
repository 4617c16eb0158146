import { ambientLetter } from "./ambient-names.ts";
import type { CodeSite, FreeName } from "./code-site.ts";
import type { ScopeView } from "./inspector-session.ts";
import { isStandardGlobal } from "./intrinsics.ts";
import { noteImport } from "./module-references.ts";
import { ShippingError } from "./shipment.ts";

/** A captured variable as it is now. */
export interface CapturedVariable {
  readonly name: string;
  readonly free: FreeName;
  readonly value: unknown;
  /** The scope it was found in; undefined for a property of globalThis. */
  readonly scope: ScopeView | undefined;
  /** Place of that scope among the scopes of the function, innermost first. */
  readonly depth: number;
}

/** What Node declares around a CommonJS module. */
const MODULE_PARAMETERS: ReadonlySet<string> = new Set(["exports", "require", "module", "__filename", "__dirname", "arguments"]);

/** The variables that a piece of code captured, in the order in which it first uses them. Throws `ShippingError`. */
export function captureVariables(site: CodeSite, scopes: readonly ScopeView[]): CapturedVariable[] {
  const captured: CapturedVariable[] = [];
  for (const free of site.free.values()) {
    if (ambientLetter(free) !== undefined) continue;
    const variable = captureVariable(site, scopes, free);
    if (variable !== undefined) captured.push(variable);
  }
  return captured;
}

function captureVariable(
  site: CodeSite,
  scopes: readonly ScopeView[],
  free: FreeName,
): CapturedVariable | undefined {
  const { name, binding } = free;
  const depth = scopes.findIndex(
    ({ description, variables }) => !description.startsWith("Global") && Object.hasOwn(variables, name),
  );
  const scope = scopes[depth];
  if (scope === undefined) {
    if (binding !== undefined && !isOwnName(site, free)) {
      throw new ShippingError(
        `the variable "${name}" is not kept by the engine`,
        [name],
        `use "${name}" in the function itself, not only in code that eval sees`,
      );
    }
    return binding === undefined ? captureGlobal(free) : undefined;
  }
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
  return { name, free, value, scope, depth };
}

/** True for the name by which a declared function refers to itself. */
function isOwnName({ unit }: CodeSite, { name, binding }: FreeName): boolean {
  const { node } = unit;
  return node.type === "FunctionDeclaration" && node.id?.name === name && binding?.declaration === node;
}

/** What the user put on globalThis travels; what every process has does not. */
function captureGlobal(free: FreeName): CapturedVariable | undefined {
  if (isStandardGlobal(free.name) || !Object.hasOwn(globalThis, free.name)) return undefined;
  return { name: free.name, free, value: Reflect.get(globalThis, free.name), scope: undefined, depth: -1 };
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
