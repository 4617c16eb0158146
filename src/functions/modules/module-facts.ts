import { existsSync } from "node:fs";
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
import { hasCallWhenLoaded, isClassNode } from "../syntax/index.ts";
import { isAsLoaded } from "./loaded-file.ts";
import { resolveUserModule } from "./resolve-module.ts";
import { entryPath, pathOf } from "./root.ts";

/** An export of another module that a module exports again. */
export interface Reexport {
  readonly source: string;
  readonly imported: string;
  readonly exported: string;
}

/** What is known of a module from its source. */
export interface ModuleFacts {
  /** Local name, or the node itself for an anonymous default, of each export. */
  readonly exports: ReadonlyMap<string, string | AnyNode>;
  /** What it exports of other modules; `exported` is `*` for all there is, `imported` for a namespace. */
  readonly reexports: readonly Reexport[];
  /** It is what this process was started with, which no worker ever runs. */
  readonly isEntry: boolean;
  /** Why a worker must not load it by itself; undefined when it may. */
  readonly hindrance: string | undefined;
  /** Paths of the files of the user's that it imports, and of what those import. */
  readonly imports: readonly string[];
}

const facts = new Map<string, ModuleFacts>();
const TEST_FILE = /[._-](?:test|spec)\.[cm]?[jt]sx?$/;
// Parsing every module that a module imports would take seconds in a large program.
const REWRITTEN = /^[^\n]{0,100}\(__(?:vi|vite_ssr)_/;
const PRIVATE_NAME = /#[\w$]+/;
/**
 * What TypeScript and esbuild call for private members that they have put into `WeakMap`s. esbuild defines its functions for
 * that beside every decorated class: only a call tells that there are such members.
 */
const LOWERED_PRIVATE = /\b__(?:privateAdd|classPrivateField(?:Get|Set|In))\s*\(/;
const MAKES_SYMBOL = /\bSymbol\s*\(/;
const IMPORTS = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;

/** What the source of a script says about it as a module. */
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
 * A worker never runs the entry file, also not because another module imports it. And what has private members must
 * travel as code, since private state can be restored only in a class that was revived: then so must whatever shares
 * the class, or there would be two of it. The same goes for what makes a symbol, and for the runtime inside of a
 * bundle. Nor does it load what starts a pool. A file that was imported with a query may be several modules.
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
  // What Node.js loads of the same file is another instance, in the main realm.
  if (!IS_MAIN_REALM) return "a test runner loaded it into a realm of its own";
  if (PRIVATE_NAME.test(source) && declaresPrivateMembers(script)) {
    return "it has, or imports, a class with private members";
  }
  if (keepsPrivatesApart(source)) return "it has, or imports, a class with private members";
  if (MAKES_SYMBOL.test(source) && makesSymbol(script)) return "it has, or imports, a symbol of its own";
  if (source.includes("WorkerPool") && startsPool(script))
    return "it, or what it imports, starts a pool when it is loaded";
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
  // What cannot be read is taken to have some.
  return units?.some(({ node }) => isClassNode(node) && privateMembers(node).some(({ isStatic }) => !isStatic)) ?? true;
}

/** A worker that loaded such a module would start workers of its own. */
function startsPool(script: Script): boolean {
  return callsWhenLoaded(script, (callee) => {
    if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return false;
    return callee.property.name === "start" && lastName(callee.object) === "WorkerPool";
  });
}

/** A worker that loaded such a module would have another symbol, and find nothing under it in what comes from here. */
function makesSymbol(script: Script): boolean {
  return callsWhenLoaded(script, (callee) => callee.type === "Identifier" && callee.name === "Symbol");
}

/** True when a module calls something as it is loaded; what cannot be read is taken to do so. */
function callsWhenLoaded(script: Script, isMeant: (callee: AnyNode) => boolean): boolean {
  const program = parsedOrUndefined(script.id)?.program;
  return program === undefined || hasCallWhenLoaded(program, isMeant);
}

function lastName(node: AnyNode): string | undefined {
  const named = node.type === "MemberExpression" ? node.property : node;
  return named.type === "Identifier" ? named.name : undefined;
}

/** Takes what looks like an import for one: that a module is looked at without need does no harm. */
function* importedSpecifiers(source: string): Generator<string> {
  for (const [, , specifier] of source.matchAll(IMPORTS)) if (specifier !== undefined) yield specifier;
}
