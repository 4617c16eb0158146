import { readFileSync } from "node:fs";
import { BoundedMap } from "../shipment/index.ts";
import { requiredExports } from "./module-names.ts";
import { isOfPackage } from "./package-index.ts";
import { importResolve, resolveUserModule } from "./resolve-module.ts";

/*
 * Exports of packages that another process may have with another value, as their text shows: `export let`, and data that
 * is computed when the file is loaded. To take one too many for such an export only costs time when it is read.
 */

/** Files that are read for one export. Beyond that, it counts as one that may change. */
const MOST_FILES = 500;
const REEXPORTS = /\bexport\s*(?:\*|\{([^}]*)\})\s*from\s*(["'])([^"'\n]+)\2/g;
const LISTS = /\bexport\s*\{([^}]*)\}(?!\s*from\b)/g;
const LITERAL =
  /^\s*(?:[-+~!]?[\d.][\w.]*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`[^`$\\]*`|true|false|null|void 0)\s*(?:$|[;,\n}])/;

const decided = new BoundedMap<string, "variable" | "constant" | "computed">(4096);

/**
 * True for a value that was imported by its name from an ES module of a package, if it may be another one at the receiver,
 * or later: the package assigns to it, or it is a primitive value that is not written there.
 */
export function isPackageVariable(value: unknown, specifier: string, name: string, importer: string): boolean {
  if (name === "*" || !isOfPackage(specifier, importer)) return false;
  const key = `${importer}\n${specifier}\n${name}`;
  const kind = decided.get(key) ?? decide(specifier, name, importer);
  decided.set(key, kind);
  const hasIdentity = (typeof value === "object" && value !== null) || typeof value === "function";
  return kind === "variable" || (kind === "computed" && !hasIdentity && typeof value !== "symbol");
}

function decide(specifier: string, name: string, importer: string): "variable" | "constant" | "computed" {
  const path = importResolve(specifier, importer);
  if (path === undefined || /\.(?:json|node|wasm)$/.test(path) || requiredExports(path) !== undefined)
    return "constant";
  return findExport(path, name, new Set()) ?? "constant";
}

/** How a file declares an export, or the file that it has it from; undefined when it has no such export. */
function findExport(
  path: string,
  name: string,
  visited: Set<string>,
): "variable" | "constant" | "computed" | undefined {
  if (visited.size >= MOST_FILES) return "variable";
  const key = `${path}\n${name}`;
  if (visited.has(key)) return undefined;
  visited.add(key);
  const text = textOf(path);
  const declared = new RegExp(
    `\\bexport\\s+(?:(?:async\\s+)?function\\s*\\*?|class|const|let|var)\\s(?:[^;(){}\\n]*,)?\\s*${escaped(name)}(?![\\w$])`,
  );
  const local = declared.test(text) ? name : localName(text, name);
  if (local !== undefined) return importedAs(path, text, local, visited) ?? kindOf(text, local);
  if (name === "default") return undefined;
  return findReexport(path, text, name, visited);
}

function findReexport(path: string, text: string, name: string, visited: Set<string>): ReturnType<typeof findExport> {
  const stars: string[] = [];
  for (const [, list, , source = ""] of text.matchAll(REEXPORTS)) {
    if (list === undefined) stars.push(source);
    else {
      const from = nameIn(list, name);
      if (from !== undefined) return follow(path, source, from, visited) ?? "constant";
    }
  }
  // A file is often named after what it exports.
  const isNamed = (source: string): number => (source.toLowerCase().includes(name.toLowerCase()) ? 0 : 1);
  for (const source of stars.sort((one, other) => isNamed(one) - isNamed(other))) {
    const found = follow(path, source, name, visited);
    if (found !== undefined) return found;
  }
  return undefined;
}

function follow(importer: string, source: string, name: string, visited: Set<string>): ReturnType<typeof findExport> {
  const path = resolveUserModule(source, importer) ?? importResolve(source, importer);
  if (path === undefined || requiredExports(path) !== undefined) return undefined;
  return findExport(path, name, visited);
}

/** The kind of an export that a file has imported. */
function importedAs(path: string, text: string, local: string, visited: Set<string>): ReturnType<typeof findExport> {
  const imports = new RegExp(
    `\\bimport\\b([^"'();=]*?\\b${escaped(local)}(?![\\w$])[^"'();=]*?)\\bfrom\\s*(["'])([^"'\\n]+)\\2`,
  );
  const [, clause = "", , source] = imports.exec(text) ?? [];
  if (source === undefined) return undefined;
  if (new RegExp(`\\*\\s*as\\s+${escaped(local)}(?![\\w$])`).test(clause)) return "constant";
  const [, list = ""] = /\{([^}]*)\}/.exec(clause) ?? [];
  return follow(path, source, nameIn(list, local) ?? "default", visited) ?? "constant";
}

/** The variable that a file exports under a name, where it lists its exports. */
function localName(text: string, name: string): string | undefined {
  for (const [, list = ""] of text.matchAll(LISTS)) {
    const local = nameIn(list, name);
    if (local !== undefined) return local;
  }
  return undefined;
}

/** What stands before `as` and a name in the list of an import or export. */
function nameIn(list: string, name: string): string | undefined {
  for (const each of list.split(",")) {
    const [from = "", to = from] = each
      .replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, "")
      .trim()
      .split(/\s+as\s+/);
    if (to === name) return from;
  }
  return undefined;
}

const OPERATOR = /^\s*(?:[-+%&|^/]|\*\*?|<<|>>>?|\?\?|\|\||&&)?=(?![=>])/;
const STEP = /^\s*(?:\+\+|--)/;
const STEP_BEFORE = /(?:\+\+|--)\s*$/;
/** `[name, other] = ` and `({ key: name } = `. */
const PATTERN = /^\s*(?:=[^,\]}]*)?[,\]}][^;={}]*[\]}]\s*=(?![=>])/;
const PATTERN_BEFORE = /[[{,:(]\s*$/;
const DECLARED = /(?:^|\n)(?:export\s+)?(const|let|var)\s(?:[^;\n]*,)?\s*$/;
const DEFINED = /(?:^|\n)(?:export\s+(?:default\s+)?)?(?:(?:async\s+)?function\s*\*?|class)\s*$/;
/** The usual form of a compiled enum assigns only once: `(name || (name = {}))`. */
const ENUM_BEFORE = /\|\|\s*\(\s*$/;
/** How much of the text around a name is looked at. */
const AROUND = 200;

function kindOf(text: string, local: string): "variable" | "constant" | "computed" {
  let initial = "";
  let assignments = 0;
  for (const [start, end] of occurrences(text, local)) {
    const before = text.slice(Math.max(0, start - AROUND), start);
    const after = text.slice(end, end + AROUND);
    // Nobody assigns to these.
    if (DEFINED.test(before)) return "computed";
    const isAssigned = OPERATOR.test(after);
    const keyword = isAssigned ? DECLARED.exec(before)?.[1] : undefined;
    if (keyword !== undefined) initial = after.slice(after.indexOf("=") + 1);
    if (keyword === "const") return LITERAL.test(initial) ? "constant" : "computed";
    if (keyword === undefined && isAssigned && !ENUM_BEFORE.test(before)) assignments += 1;
    if (STEP.test(after) || STEP_BEFORE.test(before)) assignments += 1;
    if (PATTERN_BEFORE.test(before) && PATTERN.test(after)) assignments += 1;
    if (assignments > 0) return "variable";
  }
  return LITERAL.test(initial) ? "constant" : "computed";
}

/** The places of a name in a text, except where it is a member of something. */
function* occurrences(text: string, name: string): Generator<readonly [start: number, end: number]> {
  for (let start = text.indexOf(name); start >= 0; start = text.indexOf(name, start + name.length)) {
    const end = start + name.length;
    if (!/[\w$.]/.test(text[start - 1] ?? "") && !/[\w$]/.test(text[end] ?? "")) yield [start, end];
  }
}

function escaped(name: string): string {
  return name.replaceAll("$", "\\$");
}

const texts = new BoundedMap<string, string>(64);

function textOf(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  let text = "";
  try {
    text = readFileSync(path, "utf8");
  } catch {
    // It has no exports that can be seen.
  }
  texts.set(path, text);
  return text;
}
