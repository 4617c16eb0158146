import { BoundedMap } from "../shipment/index.ts";
import {
  type Binding,
  type CodeUnit,
  type ContextualSyntax,
  isClassNode,
  isWithin,
  type Range,
  type Reference,
  type Scope,
} from "../syntax/index.ts";
import type { FunctionLocation } from "./function-views.ts";
import { type SourceFile, sourceFileOf, textRangeOf, unitAt } from "./source-file.ts";

/** A name that a piece of code uses and does not declare. */
export interface FreeName {
  readonly name: string;
  /** Undefined when the source does not declare it either: a global, or a parameter of CommonJS. */
  readonly binding: Binding | undefined;
  readonly references: readonly Reference[];
}

/** The static facts of the code at one place, the same for every function object made there. */
export interface CodeSite {
  readonly file: SourceFile;
  readonly unit: CodeUnit;
  /** The text that `toString()` shows. */
  readonly range: Range;
  readonly form: "expression" | "method" | "class";
  readonly isStrict: boolean;
  readonly free: ReadonlyMap<string, FreeName>;
  /** Uses of `this`, `super` and so on whose meaning comes from outside of this code. */
  readonly outward: readonly ContextualSyntax[];
  /** Uses of `import()`, `import.meta`, direct `eval` and so on, anywhere in this code. */
  readonly contextual: readonly ContextualSyntax[];
  /** Code that does not travel because it ran when the class was defined: heritage, computed keys, static initializers. */
  readonly omitted: readonly Range[];
}

const sites = new BoundedMap<string, CodeSite | undefined>(4096);

/** The code at a location; undefined when its source is not available. Throws a `SyntaxError` when acorn cannot parse it. */
export function siteAt(location: FunctionLocation, isClass: boolean): CodeSite | undefined {
  const key = `${location.scriptId}:${location.line}:${location.column}:${isClass}`;
  if (sites.has(key)) return sites.get(key);
  const file = sourceFileOf(location.scriptId);
  const unit = file === undefined ? undefined : unitAt(file, location, isClass);
  const site = file === undefined || unit === undefined ? undefined : siteOf(file, unit);
  sites.set(key, site);
  return site;
}

const described = new WeakMap<CodeUnit, CodeSite>();

/** The static facts of one function or class of a source. */
export function siteOf(file: SourceFile, unit: CodeUnit): CodeSite {
  const site = described.get(unit) ?? describe(file, unit);
  described.set(unit, site);
  return site;
}

function describe(file: SourceFile, unit: CodeUnit): CodeSite {
  const outer = new Set<Scope>();
  for (let scope: Scope | undefined = unit.scope; scope !== undefined; scope = scope.parent) outer.add(scope);
  const omitted = isClassNode(unit.node) ? [...definitionTimeRanges(unit)] : [];
  const isKept = ({ node }: { node: Range }): boolean => !omitted.some((range) => isWithin(node, range));
  const { references, contextual } = file.analysis;
  const free = new Map<string, { name: string; binding: Binding | undefined; references: Reference[] }>();
  for (const reference of within(references, unit.node)) {
    if (!isKept(reference) || (reference.binding !== undefined && !outer.has(reference.binding.scope))) continue;
    const { name } = reference.node;
    if (name === "arguments" && reference.binding === undefined && !outer.has(reference.scope.receiverScope()))
      continue;
    const entry = free.get(name) ?? { name, binding: reference.binding, references: [] };
    entry.references.push(reference);
    free.set(name, entry);
  }
  const inside = within(contextual, unit.node).filter(isKept);
  return {
    file,
    unit,
    range: textRangeOf(file, unit),
    form: isClassNode(unit.node) ? "class" : isMethod(unit) ? "method" : "expression",
    isStrict: isStrict(file, unit),
    free,
    outward: inside.filter((syntax) => pointsOutward(syntax, outer)),
    contextual: inside,
    omitted,
  };
}

function isMethod({ member }: CodeUnit): boolean {
  return member !== undefined && member.type !== "PropertyDefinition";
}

/** The entries of a list in source order that lie in a range. */
function within<T extends { readonly node: Range }>(sorted: readonly T[], range: Range): T[] {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle]?.node.start ?? 0) < range.start) low = middle + 1;
    else high = middle;
  }
  const found: T[] = [];
  for (let index = low; index < sorted.length; index += 1) {
    const entry = sorted[index];
    if (entry === undefined || entry.node.start >= range.end) break;
    found.push(entry);
  }
  return found;
}

function* definitionTimeRanges({ node }: CodeUnit): Generator<Range> {
  if (!isClassNode(node)) return;
  if (node.superClass != null) yield node.superClass;
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") yield member;
    else {
      if (member.computed) yield member.key;
      if (member.type === "PropertyDefinition" && member.static && member.value != null) yield member.value;
    }
  }
}

function pointsOutward(syntax: ContextualSyntax, outer: ReadonlySet<Scope>): boolean {
  switch (syntax.type) {
    case "this":
    case "super":
    case "new.target":
      return outer.has(syntax.scope.receiverScope());
    case "private":
      return !declaresPrivateName(syntax, outer);
    default:
      return false;
  }
}

function declaresPrivateName(syntax: ContextualSyntax, outer: ReadonlySet<Scope>): boolean {
  for (let scope: Scope | undefined = syntax.scope; scope !== undefined && !outer.has(scope); scope = scope.parent) {
    if (!isClassNode(scope.node)) continue;
    for (const member of scope.node.body.body) {
      if (member.type === "StaticBlock" || member.key.type !== "PrivateIdentifier") continue;
      if (member.key.name === syntax.name) return true;
    }
  }
  return false;
}

function isStrict(file: SourceFile, unit: CodeUnit): boolean {
  if (file.script.isModule || hasUseStrict(file.program.body)) return true;
  for (let scope: Scope | undefined = unit.scope; scope !== undefined; scope = scope.parent) {
    const { node } = scope;
    if (isClassNode(node)) return true;
    if ("body" in node && node.body != null && !Array.isArray(node.body) && node.body.type === "BlockStatement") {
      if (hasUseStrict(node.body.body)) return true;
    }
  }
  return isClassNode(unit.node);
}

function hasUseStrict(body: readonly { readonly type: string }[]): boolean {
  const [first] = body;
  return first !== undefined && "directive" in first && first.directive === "use strict";
}
