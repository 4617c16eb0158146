import { pathToFileURL } from "node:url";
import type { AnyNode } from "acorn";
import { type Script, scriptFrom, sourceFileOf } from "../engine/index.ts";
import type { Binding } from "../syntax/index.ts";
import { moduleFactsOf } from "./module-facts.ts";
import { resolveUserModule } from "./resolve-module.ts";
import { importerOf } from "./root.ts";

/* Where the exports of the user's ES modules are declared, and what their sources say about them. */

/** A variable of a user's module that some code of that module assigns to. */
export interface LiveVariable {
  readonly script: Script;
  readonly local: string;
}

/** An export in the module that declares it. */
export interface ExportDeclaration {
  readonly script: Script;
  /** Its name among the exports of that module. */
  readonly name: string;
  /** The variable, or the expression of a default export. */
  readonly local: string | AnyNode;
}

/** Where an export of a user's module is declared. Follows re-exports. Undefined when it is not an ES module of the user. */
function declarationOf(script: Script, name: string, visited: Set<string> = new Set()): ExportDeclaration | undefined {
  const key = `${script.id}:${name}`;
  if (!script.isModule || name === "*" || visited.has(key)) return undefined;
  visited.add(key);
  const { exports, reexports } = moduleFactsOf(script);
  const local = exports.get(name);
  const imported = typeof local === "string" ? bindingOf(script, local)?.imported : undefined;
  if (imported !== undefined) return importDeclaration(script, imported.source, imported.imported, visited);
  if (local !== undefined) return { script, name, local };
  for (const { source, imported: from, exported } of reexports) {
    if (exported !== "*" && exported !== name) continue;
    if (exported === "*" && name === "default") continue;
    const found = importDeclaration(script, source, exported === "*" ? name : from, visited);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Where that is declared which a script imports from a user's module; undefined otherwise. */
export function importDeclaration(
  script: Script,
  specifier: string,
  name: string,
  visited?: Set<string>,
): ExportDeclaration | undefined {
  const imported = importedScript(script, specifier);
  return imported === undefined ? undefined : declarationOf(imported, name, visited);
}

function importedScript(script: Script, specifier: string): Script | undefined {
  const importer = importerOf(script.url);
  const target = importer === undefined ? undefined : resolveUserModule(specifier, importer);
  return target === undefined ? undefined : scriptFrom(pathToFileURL(target).href);
}

function bindingOf({ id }: Script, local: string): Binding | undefined {
  return sourceFileOf(id)?.analysis.top.bindings.get(local);
}

/** The variable behind an export that some code of its module assigns to: its value may differ between processes. */
export function liveExport(script: Script, name: string): LiveVariable | undefined {
  return liveVariable(declarationOf(script, name));
}

/** The variable behind an import from a user's module that assigns to it; undefined otherwise. */
export function liveImport(script: Script, specifier: string, name: string): LiveVariable | undefined {
  return liveVariable(importDeclaration(script, specifier, name));
}

function liveVariable(declaration: ExportDeclaration | undefined): LiveVariable | undefined {
  if (declaration === undefined || typeof declaration.local !== "string") return undefined;
  const { script, name, local } = declaration;
  return isAssignedLater(script, local) && !isCopied(script, name) ? { script, local } : undefined;
}

/** True when the module assigns to an exported variable: it may have another value elsewhere. */
export function isAssignedLater(script: Script, local: string): boolean {
  return (bindingOf(script, local)?.writes.length ?? 0) > 0;
}

/** True for `export default name`, which exports the value that the variable has at that time. */
function isCopied(script: Script, name: string): boolean {
  if (name !== "default") return false;
  return (sourceFileOf(script.id)?.program.body ?? []).some(
    (statement) => statement.type === "ExportDefaultDeclaration" && statement.declaration.type === "Identifier",
  );
}

/** True for an import that is certainly a `const` of its module. False when that is not known, as for CommonJS. */
export function isConstantImport(script: Script, specifier: string, name: string): boolean {
  const { script: declaring, local } = importDeclaration(script, specifier, name) ?? {};
  return declaring !== undefined && typeof local === "string" && bindingOf(declaring, local)?.kind === "const";
}

/** True for an export whose value stands in the source. Others are computed in each process that loads the module. */
export function isWritten({ script, local }: ExportDeclaration): boolean {
  if (typeof local !== "string") return isLiteral(local);
  const { declaration } = bindingOf(script, local) ?? {};
  return declaration?.type === "VariableDeclarator" && isLiteral(declaration.init);
}

function isLiteral(node: AnyNode | null | undefined): boolean {
  switch (node?.type) {
    case "Literal":
      return true;
    case "UnaryExpression":
      return isLiteral(node.argument);
    case "BinaryExpression":
      return isLiteral(node.left) && isLiteral(node.right);
    case "TemplateLiteral":
      return node.expressions.every(isLiteral);
    default:
      return false;
  }
}

/** A namespace, as the module that imports it names it. */
export interface NamespaceImport {
  readonly script: Script;
  readonly specifier: string;
}

/**
 * Where the namespace comes from that a user's module exports under a name, as in `export * as name from "./m.js"`.
 * Follows re-exports. Undefined for every other export.
 */
export function namespaceBehind(
  script: Script,
  specifier: string,
  name: string,
  visited: Set<string> = new Set(),
): NamespaceImport | undefined {
  const imported = importedScript(script, specifier);
  const key = `${imported?.id}:${name}`;
  if (imported === undefined || !imported.isModule || visited.has(key)) return undefined;
  visited.add(key);
  const follow = (source: string, next: string): NamespaceImport | undefined =>
    next === "*" ? { script: imported, specifier: source } : namespaceBehind(imported, source, next, visited);
  const { exports, reexports } = moduleFactsOf(imported);
  const local = exports.get(name);
  if (local !== undefined) {
    const binding = typeof local === "string" ? sourceFileOf(imported.id)?.analysis.top.bindings.get(local) : undefined;
    return binding?.imported === undefined ? undefined : follow(binding.imported.source, binding.imported.imported);
  }
  for (const { source, imported: from, exported } of reexports) {
    const found = exported === name ? follow(source, from) : exported === "*" ? follow(source, name) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
