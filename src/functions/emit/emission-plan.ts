import type { AnyNode, VariableDeclarator } from "acorn";
import { type CodeSite, type FreeName, mayBeRunning, type SourceFile } from "../engine/index.ts";
import { type Binding, childrenOf, isClassNode, isFunctionNode, type Reference, type Scope } from "../syntax/index.ts";
import { ambientLetter, isRevivedSlot } from "./ambient-names.ts";

/** How the free names of a piece of code are provided. Names in neither list are the receiver's globals. */
export interface EmissionPlan {
  /** Captured variables that no function assigns to. */
  readonly slots: readonly string[];
  /** Captured variables that some function assigns to. */
  readonly cells: readonly string[];
  /** The value of `this` outside of an arrow function is a captured variable too. */
  readonly capturesThis: boolean;
}

/**
 * How a variable may change after its declaration. `never`: nothing assigns to it. `outside`: only the code that
 * declares it does, and none that captured it, so that a copy keeps its value. `inside`: functions that captured it
 * assign to it and share it.
 */
export type Reassignment = "never" | "outside" | "inside";

const reassignments = new WeakMap<Binding, Reassignment>();

/** How a variable of a source is assigned to. */
export function reassignmentOf(binding: Binding, file: SourceFile): Reassignment {
  const known = reassignments.get(binding) ?? findReassignment(binding, file);
  reassignments.set(binding, known);
  return known;
}

function findReassignment(binding: Binding, { source, analysis }: SourceFile): Reassignment {
  const { kind, scope } = binding;
  if (kind === "const" || kind === "import" || kind === "class-name" || kind === "function-name") return "never";
  if (isRevivedSlot(binding)) return "never";
  // Direct eval may assign to any variable around it.
  const { start, end } = scope.node;
  if (analysis.contextual.some(({ type, node }) => type === "eval" && node.start >= start && node.end <= end))
    return "inside";
  const writes = binding.writes.filter((write) => !isInitialOnly(write, source));
  if (writes.length === 0) return "never";
  const declaring = codeScope(scope);
  return writes.every((write) => codeScope(write.scope) === declaring) ? "outside" : "inside";
}

/** The scope of the function, class or module that contains a scope. */
function codeScope(scope: Scope): Scope {
  const isOfSameCode = scope.kind === "block" || scope.kind === "catch" || scope.kind === "with";
  return isOfSameCode && scope.parent !== undefined ? codeScope(scope.parent) : scope;
}

/**
 * True when the code that declares a variable has run to its end, so that it does not assign to it any more. A function
 * that is not on the stack has, unless it can be resumed.
 */
export function isLeft({ scope }: Binding, { script }: SourceFile): boolean {
  const { kind, node } = codeScope(scope);
  if ((kind !== "function" && kind !== "arrow") || !isFunctionNode(node)) return false;
  return node.async !== true && node.generator !== true && !mayBeRunning(script.url);
}

/** True for a variable that is assigned to by functions that captured it. */
export function isReassigned(binding: Binding, file: SourceFile): boolean {
  return reassignmentOf(binding, file) === "inside";
}

const unassigned = new WeakMap<Binding, boolean>();

/** True for a `var` that is declared without a value and never gets one, such as the `var undefined` of some packages. */
export function staysUndefined(binding: Binding): boolean {
  if (binding.kind !== "var" || binding.writes.length > 0) return false;
  const known = unassigned.get(binding) ?? !givesValue(binding.scope.node, binding.name);
  unassigned.set(binding, known);
  return known;
}

/** True when a declaration of this name, outside of inner functions, gives it a value. */
function givesValue(node: AnyNode, name: string): boolean {
  for (const child of childrenOf(node)) {
    if (child.type === "FunctionDeclaration" && child.id?.name === name) return true;
    if (isFunctionNode(child) || isClassNode(child)) continue;
    if (child.type === "VariableDeclaration" && child.declarations.some((each) => mayAssign(each, node, name))) {
      return true;
    }
    if (givesValue(child, name)) return true;
  }
  return false;
}

function mayAssign({ id, init }: VariableDeclarator, holder: AnyNode, name: string): boolean {
  if (id.type !== "Identifier") return true;
  const isOfLoop = holder.type === "ForInStatement" || holder.type === "ForOfStatement";
  return id.name === name && (init != null || isOfLoop);
}

/** `Name || (Name = {})`, by which compilers open an enum or a namespace, assigns once. */
function isInitialOnly({ node }: Reference, source: string): boolean {
  const before = source.slice(0, node.start).trimEnd();
  const after = source.slice(node.end, node.end + 20);
  if (!before.endsWith("(") || !/^\s*=\s*\{\s*\}/.test(after)) return false;
  const condition = before.slice(0, -1).trimEnd();
  return condition.endsWith("||") && condition.slice(0, -2).trimEnd().endsWith(node.name);
}

/** True for an arrow function that uses the `this` of the code around it. The top level of an ES module has none. */
export function usesOuterThis(site: CodeSite): boolean {
  return site.outward.some(({ type, scope }) => {
    if (type !== "this") return false;
    return scope.receiverScope().kind !== "top" || !site.file.script.isModule;
  });
}

/** True for the name by which a declared function refers to itself. */
export function isOwnName({ unit }: CodeSite, { name, binding }: FreeName): boolean {
  const { node } = unit;
  return node.type === "FunctionDeclaration" && node.id?.name === name && binding?.declaration === node;
}

/** The plan for code whose captured variables are all declared in its source. */
export function staticPlan(site: CodeSite, isProvided: (free: FreeName) => boolean): EmissionPlan {
  const slots: string[] = [];
  const cells: string[] = [];
  for (const free of site.free.values()) {
    const { binding, name } = free;
    if (binding === undefined || ambientLetter(free) !== undefined || isProvided(free)) continue;
    if (isReassigned(binding, site.file)) cells.push(name);
    else if (!isOwnName(site, free)) slots.push(name);
  }
  return { slots, cells, capturesThis: usesOuterThis(site) };
}

/** True when a variable is used inside a `with` of the code itself, where its name may be a property. */
export function isUsedInWith({ unit }: CodeSite, { references }: FreeName): boolean {
  return references.some((reference) => {
    for (let scope: Scope | undefined = reference.scope; scope !== undefined; scope = scope.parent) {
      if (scope === unit.scope) return false;
      if (scope.kind === "with") return true;
    }
    return false;
  });
}
