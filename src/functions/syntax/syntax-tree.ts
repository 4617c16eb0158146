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

/** What holds a function when it is not an expression of its own: a method, an accessor, the value of a field. */
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

/** True for the sources of functions and classes that get their name from what they are assigned to. */
export function isAnonymousDefinition(node: AnyNode): boolean {
  if (node.type === "ArrowFunctionExpression") return true;
  return (node.type === "FunctionExpression" || node.type === "ClassExpression") && node.id == null;
}
