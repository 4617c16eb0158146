import { existsSync, statSync } from "node:fs";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { AnyNode, Program } from "acorn";
import { entryPath, isInPackage, pathOf, projectRoot } from "./root.ts";
import { childrenOf, isClassNode } from "./scope-analysis.ts";
import { type Script, scriptFrom } from "./scripts.ts";
import { type SourceFile, sourceFileOf } from "./source-file.ts";

/** What is known of a module from its source. */
export interface ModuleFacts {
  /** Local name, or the node itself for an anonymous default, of each export. */
  readonly exports: ReadonlyMap<string, string | AnyNode>;
  /** A test runner rewrote it: the file on disk is not what runs here. */
  readonly isRewritten: boolean;
  /** It is what this process was started with, which no worker ever runs. */
  readonly isEntry: boolean;
  /** Why a worker must not load it by itself; undefined when it may. */
  readonly hindrance: string | undefined;
}

const facts = new Map<string, ModuleFacts>();
const TEST_FILE = /[._-](?:test|spec)\.[cm]?[jt]sx?$/;
const REWRITTEN_PARAMETER = /^__(?:vi|vite_ssr)_/;
const EXTENSIONS = ["", ".ts", ".tsx", ".mts", ".cts", ".js", ".mjs", ".cjs", ".jsx", ".json"];

/** What the source of a script says about it as a module. */
export function moduleFactsOf(script: Script): ModuleFacts {
  const cached = facts.get(script.id);
  if (cached !== undefined) return cached;
  const file = parsedOrUndefined(script.id);
  const result: ModuleFacts = {
    exports: file === undefined ? new Map() : exportsOf(file.program),
    isEntry: pathOf(script.url) === entryPath(),
    isRewritten: file !== undefined && isRewritten(file.program),
    hindrance: hindranceOf(script, new Set()),
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

function exportedName(node: AnyNode): string {
  return node.type === "Identifier" ? node.name : node.type === "Literal" ? String(node.value) : "";
}

function isRewritten(program: Program): boolean {
  for (const statement of program.body) {
    if (statement.type !== "ExpressionStatement") continue;
    const { expression } = statement;
    if (expression.type !== "ArrowFunctionExpression" && expression.type !== "FunctionExpression") continue;
    for (const parameter of expression.params) {
      if (parameter.type === "Identifier" && REWRITTEN_PARAMETER.test(parameter.name)) return true;
    }
  }
  return false;
}

/**
 * A worker never runs the entry file, also not because another module imports it. And what has private members must
 * travel as code, since private state can be restored only in a class that was revived: then so must whatever shares
 * the class, or there would be two of it.
 */
function hindranceOf(script: Script, visited: Set<string>): string | undefined {
  const path = pathOf(script.url);
  if (path === undefined) return "it is not a file";
  if (visited.has(path)) return undefined;
  visited.add(path);
  if (path === entryPath()) return "it is, or imports, the entry file";
  if (TEST_FILE.test(path)) return "it is, or imports, a test file";
  const file = parsedOrUndefined(script.id);
  if (file === undefined) return "its source is not available";
  if (isRewritten(file.program)) return "a test runner rewrote it";
  if (declaresPrivateMembers(file)) return "it has, or imports, a class with private members";
  for (const specifier of importedSpecifiers(file.program)) {
    const target = resolveUserModule(specifier, path);
    if (target === undefined) continue;
    if (target === entryPath()) return "it is, or imports, the entry file";
    const imported = scriptFrom(pathToFileURL(target).href);
    const hindrance = imported === undefined ? undefined : hindranceOf(imported, visited);
    if (hindrance !== undefined) return hindrance;
  }
  return undefined;
}

function declaresPrivateMembers(file: SourceFile): boolean {
  return file.analysis.units.some(
    ({ node }) =>
      isClassNode(node) &&
      node.body.body.some(
        (member) => member.type !== "StaticBlock" && !member.static && member.key.type === "PrivateIdentifier",
      ),
  );
}

function* importedSpecifiers(program: Program): Generator<string> {
  const pending: AnyNode[] = [program];
  for (let node = pending.pop(); node !== undefined; node = pending.pop()) {
    const source =
      node.type === "ImportDeclaration" ||
      node.type === "ExportNamedDeclaration" ||
      node.type === "ExportAllDeclaration"
        ? node.source
        : node.type === "CallExpression" && node.callee.type === "Identifier" && node.callee.name === "require"
          ? node.arguments[0]
          : undefined;
    if (source?.type === "Literal" && typeof source.value === "string") yield source.value;
    pending.push(...childrenOf(node));
  }
}

/** The file that a specifier in a file of the user's names; undefined for packages and for Node's own modules. */
export function resolveUserModule(specifier: string, importer: string): string | undefined {
  if (isBuiltin(specifier)) return undefined;
  const isRelative = /^\.{0,2}\//.test(specifier) || specifier.startsWith("file:");
  if (!isRelative && !specifier.startsWith("#")) return undefined;
  if (specifier.startsWith("#")) {
    try {
      const path = createRequire(importer).resolve(specifier);
      return isInPackage(path) ? undefined : path;
    } catch {
      return undefined;
    }
  }
  const [bare = specifier] = specifier.split(/[?#]/);
  const absolute = pathOf(bare);
  // A test runner names a file by its path below the root.
  const base =
    absolute === undefined
      ? resolve(dirname(importer), bare)
      : existsSync(absolute)
        ? absolute
        : join(projectRoot(), absolute);
  const typescript = base.replace(/\.([cm]?)js(x?)$/, ".$1ts$2");
  for (const stem of typescript === base ? [base] : [base, typescript]) {
    for (const extension of EXTENSIONS) if (isFile(stem + extension)) return stem + extension;
  }
  for (const extension of EXTENSIONS.slice(1)) {
    if (isFile(join(base, `index${extension}`))) return join(base, `index${extension}`);
  }
  return undefined;
}

function isFile(path: string): boolean {
  return existsSync(path) && statSync(path).isFile();
}
