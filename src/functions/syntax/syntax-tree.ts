import type {
  AnonymousClassDeclaration,
  AnonymousFunctionDeclaration,
  AnyNode,
  ArrowFunctionExpression,
  ClassDeclaration,
  ClassExpression,
  FunctionDeclaration,
  FunctionExpression,
  Identifier,
  MethodDefinition,
  Pattern,
  Property,
  PropertyDefinition,
} from "acorn";

/** A node that makes a function object. */
export type FunctionNode =
  | FunctionDeclaration
  | FunctionExpression
  | ArrowFunctionExpression
  | AnonymousFunctionDeclaration;

/** A node that makes a class. */
export type ClassNode = ClassDeclaration | ClassExpression | AnonymousClassDeclaration;

/** The node around a function that is not a separate expression: a method, an accessor, the value of a field. */
export type MemberNode = Property | MethodDefinition | PropertyDefinition;

/** True for the nodes that make a function object other than a class. */
export function isFunctionNode(node: AnyNode): node is FunctionNode {
  return (
    node.type === "FunctionDeclaration" || node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression"
  );
}

/** True for the nodes that make a class. */
export function isClassNode(node: AnyNode): node is ClassNode {
  return node.type === "ClassDeclaration" || node.type === "ClassExpression";
}

/** The nodes directly below one node, in source order as far as acorn keeps it. */
export function* childrenOf(node: AnyNode): Generator<AnyNode> {
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield item;
    } else if (isNode(value)) yield value;
  }
}

/** True for a part of the source that lies in another one. */
export function isWithin(inner: Range, outer: Range): boolean {
  return inner.start >= outer.start && inner.end <= outer.end;
}

/** A part of a source: its first character, and the one after its last. */
export interface Range {
  readonly start: number;
  readonly end: number;
}

/** The nodes around a node, the outermost first; empty when it is not inside of `root`. */
export function nodesAround(root: AnyNode, node: AnyNode): AnyNode[] {
  const around: AnyNode[] = [];
  for (let current: AnyNode | undefined = root; current !== node; ) {
    if (current === undefined) return [];
    around.push(current);
    current = [...childrenOf(current)].findLast((child) => isWithin(node, child));
  }
  return around;
}

function isNode(value: unknown): value is AnyNode {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

/** The identifiers that a pattern binds. */
export function* boundNames(pattern: Pattern | null | undefined): Generator<Identifier> {
  switch (pattern?.type) {
    case "Identifier":
      yield pattern;
      break;
    case "ObjectPattern":
      for (const property of pattern.properties) {
        yield* boundNames(property.type === "RestElement" ? property.argument : property.value);
      }
      break;
    case "ArrayPattern":
      for (const element of pattern.elements) yield* boundNames(element);
      break;
    case "RestElement":
      yield* boundNames(pattern.argument);
      break;
    case "AssignmentPattern":
      yield* boundNames(pattern.left);
      break;
    default:
  }
}

/** True for functions and classes that get their name from their assignment. */
export function isAnonymousDefinition(node: AnyNode): boolean {
  if (node.type === "ArrowFunctionExpression") return true;
  return (node.type === "FunctionExpression" || node.type === "ClassExpression") && node.id == null;
}
