import { isBuiltin } from "node:module";
import { pathToFileURL } from "node:url";
import type { AnyNode, Expression, SpreadElement, Super } from "acorn";
import { moduleVariable } from "../capture/index.ts";
import { listedUrls, type SourceFile, scriptFrom, sourceFileOf } from "../engine/index.ts";
import {
  entryPath,
  fromRootRelative,
  isInPackage,
  isOfPackage,
  moduleFactsOf,
  pathOf,
  textOf,
  titleOfPath,
} from "../modules/index.ts";
import { type AnyFunction, BoundedMap, type Dependency, isRecord } from "../shipment/index.ts";
import { analyzeScopes, parseSource, someWhenLoaded } from "../syntax/index.ts";

/*
 * Settings that a program makes in a package as it starts, such as `moment.locale("de")`. A worker loads the package by
 * itself, so it does not have them. The source shows them; the state of a package does not, since most of it is not
 * reachable, and a part is made at its first use.
 */

/** A statement of the program that sets up a package in this process only. */
export interface PackageSetting {
  /** The name of the package. */
  readonly package: string;
  readonly statement: string;
  /** The name of the file in messages. */
  readonly file: string;
  /** The names in the statement that a function which makes the same setting has, too. */
  readonly names: readonly string[];
}

/** Names of functions that set something up, as `setLocale`, `use` or `registerHelper`. */
const SETS_UP =
  /^(?:set|use|init|initiali[sz]e|config|configure|extend|register|install|locale|lang|language|load|add|define|update|enable|disable|seed|plugin|defaults?|override|global|connect)(?![a-z])/;
/** Of these, those that also change an object that they are given, as in `set(object, "a.b", 1)`. */
const CHANGES_FIRST = /^(?:set|extend|defaults?|add|define|update|override)$/;
const IMPORTED = /\b(?:from|import|require)\s*\(?\s*["']([^"'\n]+)["']/g;
const LONGEST_STATEMENT = 100;

const preloaded = new Set<string>();
const setups = new Set<string>();

/** Notes how workers that this process starts are prepared: they have the settings that are made there. */
export function notePreparation(preload: readonly string[], setup: AnyFunction | undefined): void {
  for (const specifier of preload) preloaded.add(pathOf(specifier) ?? specifier);
  if (setup !== undefined) setups.add(String(setup));
}

/** Says that the function of that name runs without a setting, and what to do. */
export function settingNote(name: string, { package: from, statement, file }: PackageSetting): string {
  return (
    `"${name}" uses the package "${from}", which workers load by themselves: they do not have what "${statement}" in ${file} ` +
    `sets up in this process. Do that in workers, too: in a module that they load first, as with ` +
    `WorkerPool.start({ workerOptions: { preload: ["./settings.js"] } }), or in the function itself`
  );
}

/** The modules that were asked about: the same ones need not be looked at for each closure. */
const asked = new BoundedMap<string, true>(1024);
const told = new WeakSet<PackageSetting>();

/** The settings that this function has not returned before, each time for modules that it has not been asked about before. */
export function newlyMissedSettings(dependencies: readonly Dependency[]): PackageSetting[] {
  const modules = dependencies.filter(({ data }) => isRecord(data) && data["kind"] === "module");
  const key = modules.map(({ hash }) => hash).join();
  if (key === "" || asked.has(key)) return [];
  asked.set(key, true);
  const news = missedSettings(modules).filter((setting) => !told.has(setting));
  for (const setting of news) told.add(setting);
  return news;
}

/** The settings of packages that a receiver of these dependencies loads, but does not make. */
export function missedSettings(dependencies: readonly Dependency[]): PackageSetting[] {
  const { packages, files } = loadedBy(dependencies);
  if (packages.size === 0) return [];
  for (const path of preloaded) addWithImports(files, path);
  const missed: PackageSetting[] = [];
  for (const [path, url] of loadedFiles()) {
    if (files.has(path) || isInPackage(path)) continue;
    for (const setting of settingsIn(path, url, packages)) {
      const isMadeBySetup = [...setups].some((text) => setting.names.every((name) => text.includes(name)));
      if (packages.has(setting.package) && !isMadeBySetup) missed.push(setting);
    }
  }
  return missed;
}

/**
 * The files that this process had loaded when a pool started, or later, with their URLs in the engine. The engine does not
 * list an entry file without functions.
 */
function loadedFiles(): Map<string, string | undefined> {
  const files = new Map<string, string | undefined>();
  const entry = entryPath();
  if (entry !== undefined) files.set(entry, undefined);
  for (const url of listedUrls()) {
    const path = pathOf(url);
    if (path !== undefined) files.set(path, url);
  }
  return files;
}

/** The packages that a receiver loads, and the user's files. */
function loadedBy(dependencies: readonly Dependency[]): { packages: Set<string>; files: Set<string> } {
  const packages = new Set<string>();
  const files = new Set<string>();
  for (const { data } of dependencies) {
    if (!isRecord(data) || data["kind"] !== "module") continue;
    const { specifier, package: name, file, imports } = data;
    if (typeof name === "string") packages.add(name);
    else if (typeof specifier === "string") {
      if (!isBuiltin(specifier)) packages.add(packageIn(specifier));
    } else if (typeof file === "string") {
      for (const each of [file, ...(Array.isArray(imports) ? imports : [])]) files.add(fromRootRelative(String(each)));
    }
  }
  for (const path of files) for (const name of packagesOf(path)) packages.add(name);
  return { packages, files };
}

function addWithImports(files: Set<string>, path: string): void {
  files.add(path);
  const script = scriptFrom(pathToFileURL(path).href);
  if (script !== undefined) for (const imported of moduleFactsOf(script).imports) files.add(imported);
}

const packageIn = (specifier: string): string => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)?.[0] ?? specifier;

const imported = new Map<string, ReadonlySet<string>>();

/** The packages that a user's file imports. */
function packagesOf(path: string): ReadonlySet<string> {
  const known = imported.get(path);
  if (known !== undefined) return known;
  const found = new Set<string>();
  for (const [, specifier = ""] of textOf(path).matchAll(IMPORTED)) {
    if (isOfPackage(specifier, path)) found.add(packageIn(specifier));
  }
  imported.set(path, found);
  return found;
}

const settings = new Map<string, readonly PackageSetting[]>();

/** The settings in a file, if it imports one of the packages. */
function settingsIn(path: string, url: string | undefined, packages: ReadonlySet<string>): readonly PackageSetting[] {
  const known = settings.get(path);
  if (known !== undefined) return known;
  if (![...packagesOf(path)].some((name) => packages.has(name))) return [];
  const file = readFile(path, url);
  const found = file === undefined ? [] : findSettings(path, file);
  settings.set(path, found);
  return found;
}

/** A file as the engine has it, or as it is if the engine does not list it; undefined when it cannot be parsed. */
function readFile(
  path: string,
  url: string | undefined,
): Pick<SourceFile, "source" | "program" | "analysis"> | undefined {
  try {
    const script = url === undefined ? undefined : scriptFrom(url);
    if (script !== undefined) return sourceFileOf(script.id);
    const source = textOf(path);
    const program = parseSource(source, true);
    return { source, program, analysis: analyzeScopes(program) };
  } catch {
    return undefined;
  }
}

function findSettings(
  path: string,
  { source, program, analysis }: Pick<SourceFile, "source" | "program" | "analysis">,
): PackageSetting[] {
  const found: PackageSetting[] = [];
  const packageOf = (node: AnyNode): string | undefined => {
    if (node.type !== "Identifier") return undefined;
    const binding = analysis.references.find((reference) => reference.node === node)?.binding;
    const from = moduleVariable(binding)?.source;
    return from !== undefined && isOfPackage(from, path) ? packageIn(from) : undefined;
  };
  someWhenLoaded(program, (node) => {
    if (node.type !== "ExpressionStatement") return false;
    for (const expression of statementsOf(node.expression)) {
      const set = settingIn(expression, packageOf);
      if (set === undefined) continue;
      const text = source.slice(expression.start, expression.end).replace(/\s+/g, " ");
      const statement = text.length > LONGEST_STATEMENT ? `${text.slice(0, LONGEST_STATEMENT)}...` : text;
      found.push({ ...set, statement, file: titleOfPath(path) });
    }
    return false;
  });
  return found;
}

/** The calls and assignments in an expression whose value is not used. Compilers join statements, as in `a(), b && c()`. */
function* statementsOf(node: AnyNode): Generator<AnyNode> {
  switch (node.type) {
    case "AwaitExpression":
    case "UnaryExpression":
      yield* statementsOf(node.argument);
      break;
    case "ChainExpression":
      yield* statementsOf(node.expression);
      break;
    case "SequenceExpression":
      for (const expression of node.expressions) yield* statementsOf(expression);
      break;
    case "LogicalExpression":
      yield* statementsOf(node.right);
      break;
    case "ConditionalExpression":
      yield* statementsOf(node.consequent);
      yield* statementsOf(node.alternate);
      break;
    default:
      yield node;
  }
}

type PackageOf = (node: AnyNode) => string | undefined;

/** The package that an expression sets up: by an assignment, by a call, or as the first argument of a call. */
function settingIn(node: AnyNode, packageOf: PackageOf): Pick<PackageSetting, "package" | "names"> | undefined {
  if (node.type === "AssignmentExpression") {
    if (node.left.type !== "MemberExpression") return undefined;
    const { root, names } = chainOf(node.left);
    const name = packageOf(root);
    return name === undefined ? undefined : { package: name, names };
  }
  if (node.type !== "CallExpression") return undefined;
  const { root, names } = chainOf(node.callee);
  const own = packageOf(root);
  const all = root.type === "Identifier" && names.length === 0 ? [root.name] : names;
  const isOfArgument = CHANGES_FIRST.test(all.at(-1) ?? "") && isObjectGiven(node.arguments, packageOf);
  if (own !== undefined && !isOfArgument && all.some((name) => SETS_UP.test(name))) return { package: own, names: all };
  return settingOfArgument(node.arguments, all, own, packageOf);
}

/** True when the first of several arguments is neither a text nor something of a package. */
function isObjectGiven(args: readonly (Expression | SpreadElement)[], packageOf: PackageOf): boolean {
  const [first] = args;
  if (first === undefined || args.length === 1 || first.type === "Literal") return false;
  return packageOf(chainOf(first).root) === undefined;
}

/** As in `axiosRetry(axios)` and `Object.assign(axios.defaults, {})`. */
function settingOfArgument(
  [first]: readonly (Expression | SpreadElement)[],
  names: readonly string[],
  own: string | undefined,
  packageOf: PackageOf,
): Pick<PackageSetting, "package" | "names"> | undefined {
  if (first === undefined || (own === undefined && names.at(-1) !== "assign")) return undefined;
  const { root, names: inside } = chainOf(first);
  const name = packageOf(root);
  if (name === undefined || name === own) return undefined;
  return { package: name, names: [...names, ...inside] };
}

/** The first expression of a chain of members and calls, and the names after it: `a` and `b`, `c` in `a.b().c`. */
function chainOf(node: Expression | Super | SpreadElement): { readonly root: AnyNode; readonly names: string[] } {
  if (node.type === "CallExpression") return chainOf(node.callee);
  // Compilers write `(0, pkg.set)()`.
  const last = node.type === "SequenceExpression" ? node.expressions.at(-1) : undefined;
  if (last !== undefined) return chainOf(last);
  if (node.type !== "MemberExpression") return { root: node, names: [] };
  const { root, names } = chainOf(node.object);
  const name = !node.computed && node.property.type === "Identifier" ? node.property.name : undefined;
  if (name !== undefined && name !== "default") names.push(name);
  return { root, names };
}
