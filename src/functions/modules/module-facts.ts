import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import type { AnyNode, Program } from "acorn";
import {
  IS_MAIN_REALM,
  privateMembers,
  type Script,
  type SourceFile,
  scriptFrom,
  sourceFileOf,
} from "../engine/index.ts";
import { IS_BUNDLED, OWN_URL } from "../shipment/index.ts";
import { isClassNode, someWhenLoaded } from "../syntax/index.ts";
import { isAsLoaded, resolveUserModule } from "./resolve-module.ts";
import { entryPath, isInPackage, pathOf } from "./root.ts";

/** An export of another module that a module exports again. */
export interface Reexport {
  readonly source: string;
  readonly imported: string;
  readonly exported: string;
}

/** The facts about a module from its source. */
export interface ModuleFacts {
  /** Local name, or the node itself for an anonymous default, of each export. */
  readonly exports: ReadonlyMap<string, string | AnyNode>;
  /** Its re-exports. `exported` is `*` for all exports of a module; `imported` is `*` for a namespace. */
  readonly reexports: readonly Reexport[];
  /** It is the file that this process was started with. No worker ever runs it. */
  readonly isEntry: boolean;
  /** Why a worker must not load it by itself; undefined when it may. */
  readonly hindrance: string | undefined;
  /** Paths of the user's files that it imports, and of the files that those import. */
  readonly imports: readonly string[];
}

const facts = new Map<string, ModuleFacts>();
const TEST_FILE = /[._-](?:test|spec)\.[cm]?[jt]sx?$/;
// Parsing every module that a module imports would take seconds in a large program.
const REWRITTEN = /^[^\n]{0,100}\(__(?:vi|vite_ssr)_/;
const PRIVATE_NAME = /#[\w$]+/;
/**
 * Calls of TypeScript and esbuild for private members that they have put into `WeakMap`s. esbuild defines its helpers
 * beside every decorated class, so only a call proves that there are such members.
 */
const LOWERED_PRIVATE = /\b__(?:privateAdd|classPrivateField(?:Get|Set|In))\s*\(/;
const MAKES_SYMBOL = /\bSymbol\s*\(/;
const IMPORTS = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;

/** The facts about a script as a module. */
export function moduleFactsOf(script: Script): ModuleFacts {
  const cached = facts.get(script.id);
  if (cached !== undefined) return cached;
  const file = parsedOrUndefined(script.id);
  const visited = new Set<string>();
  const hindrance = hindranceOf(script, visited);
  visited.delete(pathOf(script.url) ?? "");
  const result: ModuleFacts = {
    exports: file === undefined ? new Map() : exportsOf(file.program),
    reexports: file === undefined ? [] : [...reexportsOf(file.program)],
    isEntry: pathOf(script.url) === entryPath(),
    hindrance,
    imports: [...visited].sort(),
  };
  facts.set(script.id, result);
  return result;
}

function parsedOrUndefined(scriptId: string): SourceFile | undefined {
  try {
    return sourceFileOf(scriptId);
  } catch {
    return undefined;
  }
}

function exportsOf(program: Program): Map<string, string | AnyNode> {
  const exports = new Map<string, string | AnyNode>();
  for (const statement of program.body) {
    if (statement.type === "ExportDefaultDeclaration") {
      const { declaration } = statement;
      const name = "id" in declaration ? declaration.id?.name : undefined;
      const isDeclaration = declaration.type === "FunctionDeclaration" || declaration.type === "ClassDeclaration";
      if (declaration.type === "Identifier") exports.set("default", declaration.name);
      else exports.set("default", isDeclaration && name !== undefined ? name : declaration);
    } else if (statement.type === "ExportNamedDeclaration" && statement.source == null) {
      for (const specifier of statement.specifiers) {
        if (specifier.local.type === "Identifier") exports.set(exportedName(specifier.exported), specifier.local.name);
      }
      const { declaration } = statement;
      if (declaration?.type === "VariableDeclaration") {
        for (const { id } of declaration.declarations) if (id.type === "Identifier") exports.set(id.name, id.name);
      } else if (declaration?.id != null) exports.set(declaration.id.name, declaration.id.name);
    }
  }
  return exports;
}

function* reexportsOf(program: Program): Generator<Reexport> {
  for (const statement of program.body) {
    if (statement.type === "ExportAllDeclaration") {
      const exported = statement.exported == null ? "*" : exportedName(statement.exported);
      yield { source: String(statement.source.value), imported: "*", exported };
    } else if (statement.type === "ExportNamedDeclaration" && statement.source != null) {
      for (const { local, exported } of statement.specifiers) {
        yield {
          source: String(statement.source.value),
          imported: exportedName(local),
          exported: exportedName(exported),
        };
      }
    }
  }
}

function exportedName(node: AnyNode): string {
  return node.type === "Identifier" ? node.name : node.type === "Literal" ? String(node.value) : "";
}

/**
 * Why a worker must not load a module by itself; undefined when it may. A worker never runs the entry file, even if
 * another module imports it. A class with private members must travel as code, because private state can be restored
 * only in a revived class. Then all code that shares the class must travel too, or there would be two classes. The same
 * applies to a module that makes a symbol, and to the runtime inside a bundle. A worker does not load a module that
 * starts a pool. A file that was imported with a query may be several modules.
 */
function hindranceOf(script: Script, visited: Set<string>): string | undefined {
  const path = pathOf(script.url);
  if (path === undefined) return "it is not a file";
  if (visited.has(path)) return undefined;
  visited.add(path);
  if (path === entryPath()) return "it is, or imports, the entry file";
  if (IS_BUNDLED && path === pathOf(OWN_URL)) return "it has, or imports, the runtime itself, as a bundle does";
  if (TEST_FILE.test(path)) return "it is, or imports, a test file";
  if (/[?#]/.test(script.url))
    return `it was imported as "${script.url.replace(/^.*\//, "")}", one of several modules of a file`;
  const { source } = script;
  if (source === undefined) return "its source is not available";
  if (!existsSync(path) || !isAsLoaded(path, () => source))
    return "its file, or one that it imports, has changed since it was loaded";
  if (REWRITTEN.test(source)) return "a test runner rewrote it";
  // Node.js would load the same file as another instance, in the main realm.
  if (!IS_MAIN_REALM) return "a test runner loaded it into a separate realm";
  if (PRIVATE_NAME.test(source) && declaresPrivateMembers(script)) {
    return "it has, or imports, a class with private members";
  }
  if (keepsPrivatesApart(source)) return "it has, or imports, a class with private members";
  if (MAKES_SYMBOL.test(source) && makesSymbol(script)) return "it has, or imports, a unique symbol";
  if (source.includes("WorkerPool") && startsPool(script))
    return "it, or a module that it imports, starts a pool when it is loaded";
  for (const specifier of importedSpecifiers(source)) {
    const target = resolveUserModule(specifier, path);
    if (target === undefined) continue;
    if (target === entryPath()) return "it is, or imports, the entry file";
    const imported = scriptFrom(pathToFileURL(target).href);
    if (imported === undefined) visited.add(target);
    const hindrance = imported === undefined ? undefined : hindranceOf(imported, visited);
    if (hindrance !== undefined) return hindrance;
  }
  return undefined;
}

/** True for code that keeps private members in `WeakMap`s, as compilers do for old targets and for decorated classes. */
export function keepsPrivatesApart(source: string): boolean {
  return LOWERED_PRIVATE.test(source);
}

function declaresPrivateMembers(script: Script): boolean {
  const units = parsedOrUndefined(script.id)?.analysis.units;
  // A source that cannot be parsed counts as having some.
  return units?.some(({ node }) => isClassNode(node) && privateMembers(node).some(({ isStatic }) => !isStatic)) ?? true;
}

/** True for a module that starts a pool: a worker that loads it would start more workers. */
function startsPool(script: Script): boolean {
  return callsWhenLoaded(script, (callee) => {
    if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return false;
    return callee.property.name === "start" && lastName(callee.object) === "WorkerPool";
  });
}

/**
 * True for a module that makes a symbol: a worker that loads it has another symbol, and finds no property under it in
 * objects from here.
 */
function makesSymbol(script: Script): boolean {
  return callsWhenLoaded(script, (callee) => callee.type === "Identifier" && callee.name === "Symbol");
}

/** True when a module makes such a call as it is loaded, or cannot be parsed. */
function callsWhenLoaded(script: Script, isMeant: (callee: AnyNode) => boolean): boolean {
  const program = parsedOrUndefined(script.id)?.program;
  if (program === undefined) return true;
  return someWhenLoaded(program, (node) => {
    return (node.type === "CallExpression" || node.type === "NewExpression") && isMeant(node.callee);
  });
}

function lastName(node: AnyNode): string | undefined {
  const named = node.type === "MemberExpression" ? node.property : node;
  return named.type === "Identifier" ? named.name : undefined;
}

/** The specifiers of everything that looks like an import: one too many does no harm. */
function* importedSpecifiers(source: string): Generator<string> {
  for (const [, , specifier] of source.matchAll(IMPORTS)) if (specifier !== undefined) yield specifier;
}

const TYPE_IMPORTS = /\b(?:import|export)\s+type\b[^;"']*?\bfrom\s*(["'])[^"'\n]+\1/g;
const unloaded = new Map<string, ReadonlySet<string>>();

/** The user's files that a file imports which this process has not loaded, and those that they import, by their text. */
export function importsOfFile(path: string): ReadonlySet<string> {
  const known = unloaded.get(path);
  if (known !== undefined) return known;
  const found = new Set([path]);
  for (const each of found) {
    for (const specifier of importedSpecifiers(textOf(each).replaceAll(TYPE_IMPORTS, ""))) {
      const target = resolveUserModule(specifier, each);
      if (target !== undefined && !isInPackage(target)) found.add(target);
    }
  }
  unloaded.set(path, found);
  return found;
}

/** The text of a file; empty if it cannot be read. */
export function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
