import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname } from "node:path";
import { BoundedMap } from "../shipment/index.ts";
import { importResolve, isBareSpecifier, RUNTIME, requireResolve, resolveUserModule } from "./resolve-module.ts";
import { entryPath } from "./root.ts";

/*
 * Which files can lead to a `WeakMap` or `WeakSet`: their text has the word, or that of a file that they import. Most
 * files of most packages cannot, and then there is no need to ask the engine about their functions.
 */

interface FileFacts {
  readonly makesWeak: boolean;
  /** The paths of the files that it imports. */
  readonly imports: readonly string[];
}

const facts = new Map<string, FileFacts>();
const decided = new Map<string, boolean>();
const IMPORTS = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g;
const UNREADABLE: FileFacts = { makesWeak: true, imports: [] };

/**
 * False when neither a file nor anything that it imports makes a weak collection. True when that is not known. The
 * collections of the entry file travel with its code, so only its imports count.
 */
export function leadsToWeak(path: string | undefined): boolean {
  if (path === undefined) return true;
  if (path === entryPath()) return importsOf(path).some((imported) => imported !== path && leadsToWeak(imported));
  const known = decided.get(path);
  if (known !== undefined) return known;
  const visited = new Set([path]);
  for (const each of visited) {
    const { makesWeak, imports } = factsOf(each);
    if (makesWeak || decided.get(each) === true) {
      decided.set(path, true);
      return true;
    }
    if (decided.get(each) === undefined) for (const imported of imports) visited.add(imported);
  }
  for (const each of visited) decided.set(each, false);
  return false;
}

function factsOf(path: string): FileFacts {
  const known = facts.get(path);
  if (known !== undefined) return known;
  const found = readFacts(path);
  facts.set(path, found);
  return found;
}

function readFacts(path: string): FileFacts {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    return UNREADABLE;
  }
  if (/\bWeak(?:Map|Set)\b/.test(text)) return UNREADABLE;
  return { makesWeak: false, imports: importedFiles(text, path) };
}

let ofEntry: readonly string[] | undefined;

/** The files that the entry file imports. */
function importsOf(path: string): readonly string[] {
  ofEntry ??= readImports(path);
  return ofEntry;
}

function readImports(path: string): readonly string[] {
  try {
    return importedFiles(readFileSync(path, "utf8"), path);
  } catch {
    return [];
  }
}

function importedFiles(text: string, path: string): readonly string[] {
  const specifiers = new Set([...text.matchAll(IMPORTS)].map(([, , specifier = ""]) => specifier));
  return [...specifiers].flatMap((specifier) => filesOf(specifier, path));
}

const resolved = new BoundedMap<string, readonly string[]>(4096);

/** The files that a specifier may name. `import` and `require` may find different ones. */
function filesOf(specifier: string, importer: string): readonly string[] {
  if (isBuiltin(specifier) || RUNTIME.test(specifier)) return [];
  const key = `${dirname(importer)}\n${specifier}`;
  const known = resolved.get(key);
  if (known !== undefined) return known;
  const paths = isBareSpecifier(specifier)
    ? [resolveUserModule(specifier, importer), importResolve(specifier, importer), requireResolve(specifier, importer)]
    : [resolveUserModule(specifier, importer) ?? requireResolve(specifier, importer)];
  const files = [...new Set(paths)].filter((path) => path !== undefined).filter((path) => !path.endsWith(".json"));
  resolved.set(key, files);
  return files;
}

/** True when the code of a file assigns to a variable more than once, or cannot be read. */
export function isReplaced(path: string | undefined, name: string): boolean {
  return assignmentsTo(path, name)?.isReplaced ?? true;
}

/** True when the code of a file puts a new weak collection into a variable. */
export function isMadeLater(path: string | undefined, name: string): boolean {
  return assignmentsTo(path, name)?.isMade ?? false;
}

interface FileText {
  readonly path: string;
  readonly text: string;
  /** All names of functions, classes and variables that are declared at the start of a line. */
  readonly names: ReadonlySet<string>;
}

/** The text of the file that was asked for last. */
let latest: FileText | undefined;
/** `export const name =`, `async function name`, `class name`. */
const DECLARATION =
  /^(?:export (?:default )?)?(?:(?:const|let|var) ([\p{ID_Continue}$]+) = |(?:async )?(?:function\s*\*?|class) ?([\p{ID_Continue}$]+))/gmu;

function textOf(path: string): FileText {
  if (latest?.path === path) return latest;
  const text = readFileSync(path, "utf8");
  const names = new Set<string>();
  for (const [, variable, name = variable ?? ""] of text.matchAll(DECLARATION)) names.add(name);
  latest = { path, text, names };
  return latest;
}

const BESIDE = /(?:^|\n)(?:export (?:default )?)?(?:(?:const|let|var) ([\p{ID_Continue}$]+) = )?$/u;
const LONGEST_BEFORE = 200;

/**
 * True when a function or class is written at the top level of a file, under the name of the variable that holds it: it
 * has the same variables around it as any other code there. False when the text does not tell.
 */
export function isAtTopLevel(path: string | undefined, name: string, source: string): boolean {
  if (path === undefined) return false;
  const key = `${path}\n${name}`;
  const known = atTopLevel.get(key);
  if (known?.source === source) return known.isAtTop;
  const isAtTop = findAtTopLevel(path, name, source);
  atTopLevel.set(key, { source, isAtTop });
  return isAtTop;
}

/** Each class of a file asks about the same functions. To find one in a file of a megabyte takes half a millisecond. */
const atTopLevel = new BoundedMap<string, { readonly source: string; readonly isAtTop: boolean }>(4096);

function findAtTopLevel(path: string, name: string, source: string): boolean {
  let file: FileText;
  try {
    file = textOf(path);
  } catch {
    return false;
  }
  // Searching half a megabyte for each function of lodash took 100 ms.
  if (!file.names.has(name)) return false;
  const { text } = file;
  const at = text.indexOf(source);
  const before = at < 0 ? null : BESIDE.exec(text.slice(Math.max(0, at - LONGEST_BEFORE), at));
  if (before === null) return false;
  if (before[1] !== undefined) return before[1] === name;
  return new RegExp(`^(?:async )?(?:function\\s*\\*?|class) ?${name.replaceAll("$", "\\$")}\\b`).test(source);
}

interface Assignments {
  readonly isReplaced: boolean;
  readonly isMade: boolean;
}

const assignments = new BoundedMap<string, Assignments>(4096);

/** The assignments to a variable as the text of a file shows them; undefined when it cannot be read. */
function assignmentsTo(path: string | undefined, name: string): Assignments | undefined {
  if (path === undefined) return undefined;
  const key = `${path}\n${name}`;
  const known = assignments.get(key);
  if (known !== undefined) return known;
  try {
    const found = countAssignments(readFileSync(path, "utf8"), name);
    assignments.set(key, found);
    return found;
  } catch {
    return undefined;
  }
}

function countAssignments(text: string, name: string): Assignments {
  const escaped = name.replaceAll("$", "\\$");
  const pattern = new RegExp(`(?<![\\w$.])${escaped}\\s*(?:\\?\\?|\\|\\||&&)?=(?![=>])[^;\\n]*`, "g");
  const found = text.match(pattern) ?? [];
  return { isReplaced: found.length > 1, isMade: found.some((each) => /\bnew\s+Weak/.test(each)) };
}
