import type { AnyNode, FunctionExpression } from "acorn";
import type { CapturedVariable } from "./captured-variables.ts";
import { Cell } from "./cell.ts";
import type { CodeSite } from "./code-site.ts";
import { type ScopeView, viewFunction } from "./inspector-session.ts";
import { type Entry, pauseIn } from "./paused-frame.ts";
import type { Binding } from "./scope.ts";
import type { CodeUnit } from "./scope-analysis.ts";
import { ShippingError } from "./shipment.ts";
import { childrenOf, isClassNode, isFunctionNode } from "./syntax-tree.ts";

/** One live binding: a variable of one activation of the code that declares it. */
interface Activation {
  readonly cell: WeakRef<Cell>;
  /** A function that captured it. */
  readonly witness: WeakRef<object>;
  readonly site: CodeSite;
}

const cellsOf = new WeakMap<object, Map<string, Cell>>();
const activations = new Map<string, Activation[]>();
const permanent = new Map<string, Cell>();

/** The cell that stands for a user's own global variable. */
export function globalCell(name: string, value: unknown): Cell {
  return permanentCell(`global:${name}`, value);
}

function permanentCell(key: string, value: unknown): Cell {
  const cell = permanent.get(key) ?? new Cell();
  permanent.set(key, cell);
  cell.v = value;
  return cell;
}

/**
 * The cell of a captured variable, holding its value as it is now. Functions that captured the same binding get the
 * same cell; those that captured the same variable of another activation get another one, also when all values are
 * equal. Throws `ShippingError` when it cannot be told which it is.
 */
export function cellOf(fn: object, site: CodeSite, variable: CapturedVariable): Cell {
  const { binding } = variable.free;
  if (binding === undefined) return globalCell(variable.name, variable.value);
  const key = keyOf(site, binding);
  // A module is evaluated once.
  if (binding.scope.kind === "top" && site.file.script.isModule) return permanentCell(key, variable.value);
  const own = cellsOf.get(fn) ?? new Map<string, Cell>();
  cellsOf.set(fn, own);
  const cell = own.get(key) ?? findCell(fn, site, variable, binding, key) ?? new Cell();
  if (!own.has(key)) {
    own.set(key, cell);
    const known = activations.get(key) ?? [];
    activations.set(key, known);
    known.push({ cell: new WeakRef(cell), witness: new WeakRef(fn), site });
  }
  cell.v = variable.value;
  return cell;
}

function keyOf(site: CodeSite, { scope, name }: Binding): string {
  return `${site.file.script.id}:${scope.node.start}:${scope.node.end}:${scope.kind}:${name}`;
}

interface Candidate {
  readonly cell: Cell;
  readonly witness: object;
  readonly site: CodeSite;
}

function liveCandidates(key: string): Candidate[] {
  const found: Candidate[] = [];
  const alive = (activations.get(key) ?? []).filter((activation) => {
    const cell = activation.cell.deref();
    const witness = activation.witness.deref();
    if (cell === undefined || witness === undefined) return false;
    found.push({ cell, witness, site: activation.site });
    return true;
  });
  activations.set(key, alive);
  // What belongs together is mostly taken apart one after the other.
  return found.reverse();
}

function findCell(
  fn: object,
  site: CodeSite,
  variable: CapturedVariable,
  binding: Binding,
  key: string,
): Cell | undefined {
  const candidates = liveCandidates(key);
  if (candidates.length === 0 || isCapturedOncePerActivation(site, binding)) return undefined;
  const own = scopesFrom(fn, variable.name);
  const undecided: Candidate[] = [];
  for (const candidate of candidates) {
    const evidence = compare(own, scopesFrom(candidate.witness, variable.name), binding);
    if (evidence === "same") return candidate.cell;
    if (evidence === "undecided") undecided.push(candidate);
  }
  return undecided.length === 0 ? undefined : findByMarking(fn, site, variable, undecided);
}

/** The scope that holds a variable and all those around it. */
function scopesFrom(fn: object, name: string): readonly ScopeView[] {
  const { scopes } = viewFunction(fn);
  const start = scopes.findIndex(({ variables }) => Object.hasOwn(variables, name));
  const end = scopes.findIndex(({ description }) => description.startsWith("Global"));
  return scopes.slice(start, end < 0 ? scopes.length : end);
}

function compare(
  own: readonly ScopeView[],
  other: readonly ScopeView[],
  binding: Binding,
): "same" | "different" | "undecided" {
  if (own.length !== other.length) return "different";
  for (const [index, { variables }] of own.entries()) {
    const others = other[index]?.variables ?? {};
    for (const name of Object.keys(variables)) {
      if (!Object.hasOwn(others, name) || !Object.is(read(variables, name), read(others, name))) return "different";
    }
  }
  const [innermost] = own;
  if (innermost === undefined) return "undecided";
  const hasFreshObject = Object.keys(innermost.variables).some((name) => {
    const sibling = binding.scope.bindings.get(name);
    return sibling !== undefined && isFreshInEachActivation(sibling);
  });
  return hasFreshObject ? "same" : "undecided";
}

const UNINITIALISED = Symbol("uninitialised");

function read(variables: Readonly<Record<string, unknown>>, name: string): unknown {
  try {
    return variables[name];
  } catch {
    return UNINITIALISED;
  }
}

/** A variable that is given a new object each time its scope is entered, and no other after that. */
function isFreshInEachActivation({ kind, declaration, writes, scope }: Binding): boolean {
  if (writes.length > 0 || scope.node.type === "ForStatement") return false;
  if (kind === "function") return true;
  if (kind !== "const" || declaration?.type !== "VariableDeclarator" || declaration.id.type !== "Identifier")
    return false;
  const { init } = declaration;
  return init != null && (isFunctionNode(init) || init.type === "ObjectExpression" || init.type === "ArrayExpression");
}

/**
 * True when only one function of the source captures a binding and at most one such function is made in each
 * activation: then two of them never share it.
 */
function isCapturedOncePerActivation(site: CodeSite, binding: Binding): boolean {
  const { node } = binding.scope;
  const capturing = site.file.analysis.units.filter(
    (unit) => isWithin(unit.node, node) && unit.node !== node && capturesBinding(site, unit, binding),
  );
  const [only] = capturing;
  return capturing.length === 1 && only !== undefined && !isRepeatedWithin(node, only.node);
}

function isWithin(inner: AnyNode, outer: AnyNode): boolean {
  return inner.start >= outer.start && inner.end <= outer.end;
}

function capturesBinding(site: CodeSite, { node }: CodeUnit, binding: Binding): boolean {
  return site.file.analysis.references.some(
    (reference) => reference.binding === binding && isWithin(reference.node, node),
  );
}

const LOOPS: ReadonlySet<string> = new Set([
  "ForStatement",
  "ForInStatement",
  "ForOfStatement",
  "WhileStatement",
  "DoWhileStatement",
]);

function isRepeatedWithin(outer: AnyNode, inner: AnyNode): boolean {
  for (const child of childrenOf(outer)) {
    if (!isWithin(inner, child)) continue;
    return (child !== inner && LOOPS.has(child.type)) || (child !== inner && isRepeatedWithin(child, inner));
  }
  return false;
}

/** Marks the variable as seen from one of the functions, and looks who else sees the mark. */
function findByMarking(
  fn: object,
  site: CodeSite,
  variable: CapturedVariable,
  candidates: readonly Candidate[],
): Cell | undefined {
  const { name, value } = variable;
  const mark = `wool-mark-${Math.random()}`;
  const seesMark = (candidate: object): boolean => {
    const [innermost] = scopesFrom(candidate, name);
    return innermost !== undefined && read(innermost.variables, name) === mark;
  };
  const entry = entryTo(site);
  if (entry !== undefined) {
    const found = pauseIn(fn, entry, (frame) => {
      let cell: Cell | undefined;
      const isMarked = frame.withVariable(name, mark, value, () => {
        cell = candidates.find(({ witness }) => seesMark(witness))?.cell;
      });
      return isMarked ? { cell } : undefined;
    });
    if (found !== undefined) return found.cell;
  }
  for (const candidate of candidates) {
    const other = entryTo(candidate.site);
    const isSame =
      other === undefined
        ? undefined
        : pauseIn(candidate.witness, other, (frame) => {
            let sees = false;
            const isMarked = frame.withVariable(name, mark, value, () => {
              sees = seesMark(fn);
            });
            return isMarked ? { sees } : undefined;
          });
    if (isSame === undefined) throw undecidable(name);
    if (isSame.sees) return candidate.cell;
  }
  return undefined;
}

function undecidable(name: string): ShippingError {
  return new ShippingError(
    `it cannot be told whether two functions share the variable "${name}" that they assign to`,
    [name],
    `keep it in an object, such as \`const state = { ${name} }\`, or detach the debugger`,
  );
}

/** How the function at a site can be entered without running anything of the user's; undefined when it cannot. */
export function entryTo({ unit }: CodeSite): Entry | undefined {
  const { node } = unit;
  const fn = isFunctionNode(node) ? node : constructorOf(node);
  const params = fn?.params ?? [];
  if (params.some(hasComputedKey)) return undefined;
  const way = isClassNode(node) ? "construct" : fn?.generator === true ? "iterate" : "call";
  return { parameterCount: params.length, way };
}

function constructorOf(node: AnyNode): FunctionExpression | undefined {
  if (!isClassNode(node)) return undefined;
  for (const member of node.body.body) {
    if (member.type === "MethodDefinition" && member.kind === "constructor") return member.value;
  }
  return undefined;
}

function hasComputedKey(node: AnyNode): boolean {
  if (isFunctionNode(node)) return false;
  if (node.type === "Property" && node.computed) return true;
  for (const child of childrenOf(node)) if (hasComputedKey(child)) return true;
  return false;
}
